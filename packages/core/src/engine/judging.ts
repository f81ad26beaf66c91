import type { Catalog } from '../catalog.ts'
import { type Issue, OutlayError } from '../error.ts'
import { Policy } from '../policy.ts'
import type { PolicyFacts } from '../policy-condition.ts'
import type { NewHold, NewWatch } from '../ports/holds.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { ExpectedFacts, FactQuery, KnownPolicies, PolicyPort, StoredFacts } from '../ports/policies.ts'
import type { Clock, Runtime } from '../ports/runtime.ts'
import type { EnqueuedTransfer } from '../ports/stored-transfer.ts'
import type { TransferPort } from '../ports/transfers.ts'
import { TransferFlow } from '../transfer-flow.ts'
import {
  addOwnLookalikes,
  addPayees,
  isNothing,
  type NeededFacts,
  needsNothing,
  needsOf,
  type PayingTransfer,
  queryOf,
  readMany,
  sameWorth,
  usualFacts,
} from './policy-facts.ts'
import { createTurns } from './turns.ts'

/** What judging needs of the engine. */
interface Judging<Tx> {
  readonly backend: Pick<TransferPort<Tx>, 'areStored'> & Pick<PolicyPort<Tx>, 'readPolicies' | 'readFacts'>
  readonly catalog: Catalog
  readonly runtime: Pick<Runtime, 'yieldToEventLoop' | 'digest'> & { readonly clock: Clock }
}

/**
 * Writes transfers where the policies are those with the tag; `stale` where they are others, and then nothing is written. Nor is anything where one was
 * judged by other facts than those that hold, which are returned.
 */
type WriteJudged = (
  transfers: readonly NewTransfer[],
  tag: string | null,
  expected?: ExpectedFacts | undefined,
) => Promise<readonly EnqueuedTransfer[] | 'stale' | { readonly facts: StoredFacts }>

/** How often policies may change while one enqueue is judged. */
const maxTries = 10

/** Most broken rules in one refusal. */
const maxIssues = 100

/**
 * Makes the judgement of new transfers by the policies that this process knows. The insert compares the version in SQL: where it is another
 * one, the policies are read again, in the same transaction, and the transfers are judged again. A refusal reads them again too.
 *
 * What the policies need to know of the database is read before many are judged. One is judged by what is usual, and its insert compares that: nearly always it
 * costs no statement of its own.
 */
export function createJudgement<Tx>({ backend, catalog, runtime }: Judging<Tx>) {
  let known: ReadPolicies = { version: 0, tag: null, policies: [], needs: needsNothing }
  const readKnown = async (tx: Tx): Promise<ReadPolicies> => {
    const { version, tag, policies: stored } = await backend.readPolicies(tx)
    if (tag === known.tag && version === known.version) return known
    const { policies = [], unknown } = Policy.readStored(stored, catalog)
    return { version, tag, policies, unknown, needs: needsOf(policies) }
  }
  // Other enqueues may read other policies while this one lets them have their turn.
  const judge = async (
    { by, paid, isMany, stored }: Case,
    endTurn: () => Promise<void>,
  ): Promise<readonly Judged[]> => {
    const facts = { now: runtime.clock.now(), catalog }
    const own = stored === undefined || !isMany ? stored : addOwnLookalikes(stored, by.needs, paid, facts)
    const judged: Judged[] = []
    for (const [index, transfer] of paid.entries()) {
      const found = { payees: own?.payees, payment: own?.payments.get(index) }
      judged.push(judgeOne(by, transfer, isMany ? `${index}.` : '', { ...facts, ...found }))
      await endTurn()
    }
    return judged
  }
  /** What the transfers are judged by, and how the insert asks for it. */
  const ask = async (by: ReadPolicies, tx: Tx, transfers: readonly NewTransfer[], isMany: boolean) => {
    const endTurn = createTurns(runtime)
    if (isNothing(by.needs)) return { endTurn, one: { by, isMany, paid: transfers } }
    const paid = await addPayees(transfers, runtime, endTurn)
    const query = queryOf(by.needs, paid, catalog)
    const stored = transfers.length === 1 ? usualFacts : await readMany(query, (part) => backend.readFacts(tx, part))
    return { endTurn, query, one: { by, isMany, paid, stored } }
  }
  return async (
    tx: Tx,
    transfers: readonly NewTransfer[],
    isMany: boolean,
    write: WriteJudged,
  ): Promise<readonly EnqueuedTransfer[]> => {
    let found: { readonly tag: string | null; readonly facts: StoredFacts } | undefined
    for (let tries = 0; tries < maxTries; tries += 1) {
      const by = known
      if (by.tag === null) {
        const enqueued = await write(transfers, null)
        if (typeof enqueued !== 'string' && !('facts' in enqueued)) return enqueued
        known = await readKnown(tx)
        continue
      }
      const { endTurn, query, one } = await ask(by, tx, transfers, isMany)
      const asked: Case = found?.tag === by.tag ? { ...one, stored: found.facts } : one
      let judged = await judge(asked, endTurn)
      if (judged.some(({ issue }) => issue !== undefined)) {
        known = await readKnown(tx)
        if (known.tag !== by.tag) continue
        if (query !== undefined && asked.stored === usualFacts) {
          found = { tag: by.tag, facts: await backend.readFacts(tx, query) }
          continue
        }
        judged = await keepRepeats(backend, tx, transfers, judged)
        refuseAll(judged.flatMap(({ issue }) => issue ?? []))
      }
      const enqueued = await write(addHolds(transfers, judged), by.tag, expect(query, asked, transfers))
      if (enqueued === 'stale') known = await readKnown(tx)
      else if ('facts' in enqueued) found = { tag: by.tag, facts: enqueued.facts }
      else return enqueued
    }
    throw new OutlayError('conflict', 'The policies, or what they ask about, change all the time; enqueue again.')
  }
}

/** The policies as the catalog of this process names what they are about. */
interface ReadPolicies extends KnownPolicies {
  /** What this release, or the catalog, does not know of them. */
  readonly unknown?: string | undefined
  readonly needs: NeededFacts
}

/** Transfers to be judged, and by what. */
interface Case {
  readonly by: ReadPolicies
  readonly isMany: boolean
  readonly paid: readonly PayingTransfer[]
  /** Absent where the policies ask for nothing. */
  readonly stored?: StoredFacts | undefined
}

/** What was read before many is not compared again: the insert of the same transaction would see no other order. */
const expect = (query: FactQuery | undefined, { stored }: Case, { length }: readonly NewTransfer[]) =>
  query === undefined || stored === undefined || length !== 1 ? undefined : { query, text: stored.text }

/** What the policies say about one transfer. */
interface Judged {
  readonly holds: readonly NewHold[]
  readonly watches?: readonly NewWatch[] | undefined
  readonly issue?: Issue | undefined
}

function judgeOne(
  { policies, version, unknown }: ReadPolicies,
  transfer: PayingTransfer,
  prefix: string,
  facts: Omit<PolicyFacts, 'flow'>,
): Judged {
  const field = prefix === '' ? 'request' : prefix.slice(0, -1)
  if (unknown !== undefined) {
    const message = `cannot be judged: version ${version} of the policies has what this release, or the catalog of this process, does not know (${unknown}). Update this process, or set policies that it knows`
    return { holds: [], issue: { field, code: 'policy_unknown', message } }
  }
  const { source, destination } = transfer.request
  // What is given in full is no wallet of the service.
  const known = destination.address === undefined ? {} : ({ destination: 'external' } as const)
  const flow = TransferFlow.possible({ source, destination }, facts.catalog, known)
  const verdict = Policy.judge(policies, transfer, { ...facts, flow })
  if (verdict.refusal !== undefined) {
    const { policy, why } = verdict.refusal
    const message = `is refused by the policy ${policy}: ${why}`
    return { holds: [], issue: { field, code: 'policy_refused', message } }
  }
  const [holding] = verdict.holds
  if (holding !== undefined && transfer.createdBy === undefined) {
    const act = holding.name === 'approval' ? 'approves' : 'releases'
    const message = `is required: the policy ${holding.policy} holds it until somebody ${act} it who did not create it. Name the person who did`
    return { holds: [], issue: { field: `${prefix}createdBy`, code: 'missing_field', message } }
  }
  const holds = verdict.holds.map((hold) => ({ ...hold, policyVersion: version }))
  const currencies = verdict.watches === undefined ? [] : sameWorth(transfer.request.amount.currency, facts.catalog)
  return { holds, watches: verdict.watches?.map((watch) => ({ ...watch, policyVersion: version, currencies })) }
}

const addHolds = (transfers: readonly NewTransfer[], judged: readonly Judged[]): readonly NewTransfer[] =>
  transfers.map((transfer, index) => {
    const { holds = [], watches } = judged[index] ?? {}
    if (holds.length === 0 && watches === undefined) return transfer
    return { ...transfer, ...(holds.length === 0 ? {} : { holds }), ...(watches === undefined ? {} : { watches }) }
  })

/** The same without the refusals of repeats: a repeat of a key gets what is stored, whatever the policies have become. */
async function keepRepeats<Tx>(
  backend: Judging<Tx>['backend'],
  tx: Tx,
  transfers: readonly NewTransfer[],
  judged: readonly Judged[],
): Promise<readonly Judged[]> {
  const refused = transfers.filter((_, index) => judged[index]?.issue !== undefined)
  const stored = await backend.areStored(tx, refused)
  const repeats = new Set(refused.filter((_, at) => stored[at] === true))
  return judged.map((one, index) => (repeats.has(transfers[index] as NewTransfer) ? { holds: [] } : one))
}

function refuseAll(issues: readonly Issue[]): void {
  const [first, ...rest] = issues.slice(0, maxIssues)
  if (first !== undefined) throw OutlayError.fromIssues([first, ...rest])
}
