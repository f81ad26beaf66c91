import type { Catalog } from '../catalog.ts'
import { type Issue, OutlayError } from '../error.ts'
import { evaluatePolicies, Policy } from '../policy.ts'
import type { PolicyFacts } from '../policy-condition.ts'
import type { NewHold } from '../ports/holds.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { KnownPolicies, PolicyPort } from '../ports/policies.ts'
import type { Clock, Runtime } from '../ports/runtime.ts'
import type { EnqueuedTransfer } from '../ports/stored-transfer.ts'
import type { TransferPort } from '../ports/transfers.ts'
import { TransferFlow } from '../transfer-flow.ts'

/** What judging needs of the engine. */
interface Judging<Tx> {
  readonly backend: Pick<TransferPort<Tx>, 'areStored'> & Pick<PolicyPort<Tx>, 'readPolicies' | 'findRegistered'>
  readonly catalog: Catalog
  readonly runtime: Pick<Runtime, 'yieldToEventLoop'> & { readonly clock: Clock }
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

/** Transfers to judge before other work of the process gets a turn: some milliseconds with a hundred policies. */
const turnSize = 100

/**
 * Makes the judgement of new transfers by the policies that this process knows. The insert compares the version in SQL: where it is another
 * one, the policies are read again, in the same transaction, and the transfers are judged again. A refusal reads them again too.
 */
export function createJudgement<Tx>({ backend, catalog, runtime }: Judging<Tx>) {
  let known: ReadPolicies = { version: 0, tag: null, policies: [] }
  const readKnown = async (tx: Tx): Promise<ReadPolicies> => {
    const read = await backend.readPolicies(tx)
    return { ...read, unknown: Policy.findUnknown(read.policies, catalog) }
  }
  // Other enqueues may read other policies while this one lets them have their turn.
  const judge = async (
    by: ReadPolicies,
    tx: Tx,
    transfers: readonly NewTransfer[],
    isMany: boolean,
  ): Promise<readonly Judged[]> => {
    const registered = by.unknown === undefined ? await findRegistered(backend, tx, by, transfers) : undefined
    const facts = { now: runtime.clock.now(), catalog, registered }
    const judged: Judged[] = []
    for (const [index, transfer] of transfers.entries()) {
      if (index % turnSize === turnSize - 1) await runtime.yieldToEventLoop?.()
      judged.push(judgeOne(by, transfer, isMany ? `${index}.` : '', facts))
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

/** The policies, and what this release does not know of them. */
interface ReadPolicies extends KnownPolicies {
  readonly unknown?: string | undefined
}

/** The details of the counterparties that policies name, where a transfer gives one in full. */
async function findRegistered<Tx>(
  backend: Judging<Tx>['backend'],
  tx: Tx,
  { policies }: KnownPolicies,
  transfers: readonly NewTransfer[],
): Promise<PolicyFacts['registered']> {
  if (transfers.every(({ request }) => request.destination.address === undefined)) return undefined
  const ids = [...new Set(policies.flatMap(({ when }) => when?.counterparties ?? []))]
  return ids.length === 0 ? undefined : backend.findRegistered(tx, ids)
}

/** What the policies say about one transfer. */
interface Judged {
  readonly holds: readonly NewHold[]
  readonly issue?: Issue | undefined
}

function judgeOne(
  { policies, version, unknown }: ReadPolicies,
  transfer: NewTransfer,
  prefix: string,
  facts: Omit<PolicyFacts, 'flow'>,
): Judged {
  const field = prefix === '' ? 'request' : prefix.slice(0, -1)
  if (unknown !== undefined) {
    const message = `cannot be judged: version ${version} of the policies has what this release, or the catalog of this process, does not know (${unknown}). Update this process, or set policies that it knows`
    return { holds: [], issue: { field, code: 'policy_unknown', message } }
  }
  const { source, destination } = transfer.request
  const flow = TransferFlow.classify({ source, destination }, facts.catalog)
  const verdict = evaluatePolicies(policies, transfer, { ...facts, flow })
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
