import {
  type AnsweredScreening,
  type ApproveOptions,
  type ControlNote,
  type Hold as HeldHold,
  Id,
  type Policy,
  type ScreeningDecision,
  type StoredTransfer,
} from '@outlay/core'
import { printable } from '../output/table.ts'
import { withGateway } from '../session/gateway-module.ts'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { unlessUnreadable } from './circumstances.ts'
import { formatHolds, readHolds } from './holds.ts'
import { readJson } from './json-file.ts'
import { changeAll, readAll, type Transaction } from './transfers.ts'

/** Holds transfers, all of them or none. */
export async function holdTransfers(session: Session, ids: readonly string[], note: ControlNote): Promise<void> {
  const before: string[] = []
  const hold = async (tx: Transaction, { id }: StoredTransfer) => {
    if (await session.engine.transfers.hold(tx, id, note)) return true
    const first = (await session.engine.transfers.holds(id, tx))?.holds.find(({ name }) => name === 'operator')
    before.push(describeFirst(id, first))
    return false
  }
  await changeAll(session, ids, 'held', hold, { notes: before })
}

/** Whose hold a transfer has that somebody else wanted held, too. */
const describeFirst = (id: string, { actor = 'an operator', since = '', why = '' }: Partial<HeldHold> = {}): string =>
  `${id} was held before, by ${printable(actor)} since ${since} (${printable(why)}): nothing changed, and whoever releases that hold lets it go.`

/** Approves held transfers, all of them or none. */
export async function approveTransfers(
  session: Session,
  ids: readonly string[],
  approval: ApproveOptions,
): Promise<void> {
  await changeAll(
    session,
    ids,
    'approved',
    async (tx, { id }) => void (await session.engine.transfers.approve(tx, id, approval)),
  )
}

/** Ends held transfers as canceled, all of them or none. */
export async function rejectTransfers(session: Session, ids: readonly string[], note: ControlNote): Promise<void> {
  await changeAll(session, ids, 'rejected', (tx, { id }) => session.engine.transfers.reject(tx, id, note))
}

/**
 * Answers what the screening of a transfer has put on hold. Returns the exit code: 1 where the answer changed nothing, since screening holds the
 * transfer no more.
 */
export async function answerScreening(session: Session, id: string, decision: ScreeningDecision): Promise<number> {
  const [before] = await readAll(session, [Id.parse(id)])
  const answer = (tx: Transaction) => session.engine.transfers.answerScreening(tx, Id.parse(id), decision)
  const { isCounted, isReleased } = await session.transaction(answer)
  const { result } = decision
  session.begin(isCounted ? `The answer "${result}" counts.` : `The answer "${result}" is stored and changed nothing.`)
  const [after] = (await unlessUnreadable(readAll(session, [id]))) ?? []
  const holds = isReleased && before !== undefined ? await readHolds(session, before.accountId) : undefined
  const { stage = null, status = null, reason = null, resubmittedAs = null } = after ?? {}
  session.write({ id, result, isCounted, isReleased, stage, status, reason, resubmittedAs, holds }, () =>
    [isReleased ? formatHolds(holds) : '', ...describeAnswered(id, after, { isCounted, isReleased })]
      .filter((part) => part !== '')
      .join('\n'),
  )
  return isCounted ? 0 : 1
}

/** What a transfer is behind an answer of its screening, and what to do where that came too late. */
function describeAnswered(
  id: string,
  after: StoredTransfer | undefined,
  { isCounted, isReleased }: AnsweredScreening,
): readonly string[] {
  if (after === undefined) return ['What it is now could not be read: see "outlay transfers show".']
  const { stage, status, reason, resubmittedAs } = after
  const now = `${id} is ${stage}/${status}${reason === null ? '' : ` (${reason})`}`
  if (isCounted)
    return [isReleased || stage !== 'held' ? `${now}.` : `${now}: "outlay transfers show ${id}" has what holds it.`]
  const next =
    resubmittedAs === undefined
      ? `"outlay prove ${id}" shows what has become of it.`
      : `It was resubmitted as ${resubmittedAs}, which is screened by itself: answer about that one.`
  return [`Screening does not hold it any more: ${now}. ${next}`]
}

/** Shows the policies, or an earlier version of them. */
export async function showPolicies(session: Session, version?: number): Promise<void> {
  const found = await session.engine.policies.get({ version })
  if (found === undefined)
    throw new Misuse(`There is no version ${version} of the policies.`, 'Leave it out for the newest.')
  session.write(found, () => {
    const who =
      found.setAt === null
        ? 'No policies were ever set.'
        : `Version ${found.version}, set ${found.setAt} by ${found.actor}: ${found.reason}`
    return `${who}\n\n${JSON.stringify(found.policies, null, 2)}`
  })
}

/** Replaces all policies by those of a file. With a gateway module, by an engine with the host's catalog. */
export async function setPolicies(
  session: Session,
  file: string,
  note: ControlNote & { readonly expectedVersion?: number | undefined; readonly clear?: boolean | undefined },
  gatewayModule?: string,
): Promise<void> {
  const policies = await readJson<readonly Policy[]>(file, {
    next: 'Give a file with a list of policies as JSON, as "outlay policies show" prints it below its first line.',
    example: 'one "when" of each policy',
  })
  const set = (engine: Session['engine']) => session.transaction((tx) => engine.policies.set(tx, policies, note))
  const { version } = await (gatewayModule === undefined
    ? set(session.engine)
    : withGateway(session, gatewayModule, set))
  session.write({ version, policies: policies.length }, () =>
    policies.length === 0
      ? `Version ${version} has no policies: nothing is held or refused any more, and what is held stays so.`
      : `${policies.length === 1 ? '1 policy' : `${policies.length} policies`} set, as version ${version}. What is held keeps its holds.`,
  )
}

/** Makes the indexes by which policies find earlier transfers. */
export async function preparePolicies(session: Session): Promise<void> {
  const made: string[] = []
  await session.backend.preparePolicies((step) => {
    made.push(step)
    session.progress(`Making ${step} …`)
  })
  session.write({ made }, () =>
    made.length === 0
      ? 'The indexes are there; nothing to do.'
      : `Made ${made.join(', ')}. Policies may have newCounterparty and lookalike now.`,
  )
}
