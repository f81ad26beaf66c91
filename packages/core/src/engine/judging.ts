import type { Catalog } from '../catalog.ts'
import { Counterparty } from '../counterparty.ts'
import { type Issue, OutlayError } from '../error.ts'
import { Policy } from '../policy.ts'
import type { JudgedTransfer, PolicyFacts } from '../policy-condition.ts'
import type { NewHold } from '../ports/holds.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { KnownPolicies, PayeeQuery, PolicyPort } from '../ports/policies.ts'
import type { Clock, Runtime } from '../ports/runtime.ts'
import type { EnqueuedTransfer } from '../ports/stored-transfer.ts'
import type { TransferPort } from '../ports/transfers.ts'
import { TransferFlow } from '../transfer-flow.ts'

/** What judging needs of the engine. */
interface Judging<Tx> {
  readonly backend: Pick<TransferPort<Tx>, 'areStored'> & Pick<PolicyPort<Tx>, 'readPolicies' | 'findPayees'>
  readonly catalog: Catalog
  readonly runtime: Pick<Runtime, 'yieldToEventLoop' | 'digest'> & { readonly clock: Clock }
}

/** Writes transfers where the policies are those with the tag; `stale` where they are others, and then nothing is written. */
type WriteJudged = (
  transfers: readonly NewTransfer[],
  tag: string | null,
) => Promise<readonly EnqueuedTransfer[] | 'stale'>

/** How often policies may change while one enqueue is judged. */
const maxTries = 10

/** Most broken rules in one refusal. */
const maxIssues = 100

/** Most transfers to judge before other work of the process gets a turn, and most time: policies cost more or less. */
const turn = { transfers: 100, ms: 10 }

/** Lets other work of the process run when a turn is over. A clock that was set back ends it too. */
function createTurns({ yieldToEventLoop, clock }: Judging<unknown>['runtime']): () => Promise<void> {
  let judged = 0
  let began = clock.now().getTime()
  return async () => {
    judged += 1
    if (judged < turn.transfers && Math.abs(clock.now().getTime() - began) < turn.ms) return
    await yieldToEventLoop?.()
    judged = 0
    began = clock.now().getTime()
  }
}

/**
 * Makes the judgement of new transfers by the policies that this process knows. The insert compares the version in SQL: where it is another
 * one, the policies are read again, in the same transaction, and the transfers are judged again. A refusal reads them again too.
 */
export function createJudgement<Tx>({ backend, catalog, runtime }: Judging<Tx>) {
  let known: ReadPolicies = { version: 0, tag: null, policies: [], named: [] }
  const readKnown = async (tx: Tx): Promise<ReadPolicies> => {
    const { version, tag, policies: stored } = await backend.readPolicies(tx)
    if (tag === known.tag && version === known.version) return known
    const { policies = [], unknown } = Policy.readStored(stored, catalog)
    const named = [...new Set(policies.flatMap(({ when }) => when?.counterparties ?? []))]
    return { version, tag, policies, unknown, named }
  }
  // Other enqueues may read other policies while this one lets them have their turn.
  const judge = async (
    by: ReadPolicies,
    tx: Tx,
    transfers: readonly NewTransfer[],
    isMany: boolean,
  ): Promise<readonly Judged[]> => {
    const endTurn = createTurns(runtime)
    const paid = by.named.length === 0 ? transfers : await addPayees(transfers, runtime, endTurn)
    const payees = by.named.length === 0 ? undefined : await backend.findPayees(tx, queryOf(by, paid))
    const facts = { now: runtime.clock.now(), catalog, payees }
    const judged: Judged[] = []
    for (const [index, transfer] of paid.entries()) {
      judged.push(judgeOne(by, transfer, isMany ? `${index}.` : '', facts))
      await endTurn()
    }
    return judged
  }
  return async (
    tx: Tx,
    transfers: readonly NewTransfer[],
    isMany: boolean,
    write: WriteJudged,
  ): Promise<readonly EnqueuedTransfer[]> => {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const by = known
      let judged = by.tag === null ? undefined : await judge(by, tx, transfers, isMany)
      if (judged?.some(({ issue }) => issue !== undefined)) {
        known = await readKnown(tx)
        if (known.tag !== by.tag) continue
        judged = await keepRepeats(backend, tx, transfers, judged)
        refuseAll(judged.flatMap(({ issue }) => issue ?? []))
      }
      const enqueued = await write(judged === undefined ? transfers : addHolds(transfers, judged), by.tag)
      if (enqueued !== 'stale') return enqueued
      known = await readKnown(tx)
    }
    throw new OutlayError('conflict', 'The policies change all the time; enqueue again.')
  }
}

/** The policies as the catalog of this process names what they are about. */
interface ReadPolicies extends KnownPolicies {
  /** What this release, or the catalog, does not know of them. */
  readonly unknown?: string | undefined
  /** Ids of counterparties, each once. */
  readonly named: readonly string[]
}

/** A transfer and who it pays, where it says so. */
type PayingTransfer = NewTransfer & JudgedTransfer

async function addPayees(
  transfers: readonly NewTransfer[],
  { digest }: Pick<Runtime, 'digest'>,
  endTurn: () => Promise<void>,
): Promise<readonly PayingTransfer[]> {
  const paying: PayingTransfer[] = []
  for (const transfer of transfers) {
    const { counterparty } = transfer
    const payee = counterparty === undefined ? undefined : Counterparty.payeeOf(counterparty.address, digest)
    paying.push({ ...transfer, payee })
    await endTurn()
  }
  return paying
}

/** What is asked about those whom transfers pay. */
function queryOf({ named }: ReadPolicies, paid: readonly JudgedTransfer[]): PayeeQuery {
  const all = (read: (transfer: JudgedTransfer) => string | undefined) => [
    ...new Set(paid.flatMap((transfer) => read(transfer) ?? [])),
  ]
  return {
    named,
    addressIds: all(({ request }) => request.destination.addressId),
    fingerprints: all(({ request }) => request.destination.address?.fingerprint),
    payees: all(({ payee }) => payee),
  }
}

/** What the policies say about one transfer. */
interface Judged {
  readonly holds: readonly NewHold[]
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
  const flow = TransferFlow.classify({ source, destination }, facts.catalog, known)
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
  return { holds: verdict.holds.map((hold) => ({ ...hold, policyVersion: version })) }
}

const addHolds = (transfers: readonly NewTransfer[], judged: readonly Judged[]): readonly NewTransfer[] =>
  transfers.map((transfer, index) => {
    const { holds = [] } = judged[index] ?? {}
    return holds.length === 0 ? transfer : { ...transfer, holds }
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
