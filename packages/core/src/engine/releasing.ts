import { OutlayError } from '../error.ts'
import { holdNames } from '../policy.ts'
import type { Backend } from '../ports/backend.ts'
import type { HeldState, Hold } from '../ports/holds.ts'
import { checkControlNote, readGivenNote, readMoment } from './actors.ts'
import { checkText } from './checked-text.ts'
import type { ReleaseNote } from './control-commands.ts'
import { describeSteps, findMissing, type HoldingBackend, lockHeld, refuseCreator, refuseExpired } from './holding.ts'

/** Which hold a person ends. */
type NamedHold = Required<Pick<ReleaseNote, 'hold'>> & Pick<ReleaseNote, 'policy' | 'since'>

const releasable = holdNames.filter((name) => name !== 'approval')

/** Ends what keeps a transfer from being sent and a person may end: a hold, or a block. Returns false where there is nothing of that. */
export async function releaseTransfer<Tx>(
  backend: HoldingBackend<Tx> & Pick<Backend<Tx>, 'release'>,
  tx: Tx,
  transferId: string,
  note: unknown,
): Promise<boolean> {
  const { actor = null, reason = null } = readGivenNote(note, ['hold', 'policy', 'since'])
  const named = readNamed(note)
  const was = await backend.get(transferId, tx)
  if (was === undefined) return false
  if (was.stage === 'held') return releaseHeld(backend, tx, transferId, note, named)
  if (named !== undefined) {
    const message = `The transfer ${transferId} is ${was.stage}, so nothing holds it; leave out hold to release what is blocked or waits.`
    throw new OutlayError('conflict', message, { field: 'hold' })
  }
  if (!(await backend.release(tx, transferId))) return false
  const before = { stage: was.stage, status: was.status, reason: was.reason }
  await backend.recordAudit(tx, { command: 'transfers.release', actor, reason, transferId, before, after: null })
  return true
}

/** Reads which hold is meant; undefined where the caller does not say. */
function readNamed(note: unknown): NamedHold | undefined {
  const { hold, policy, since: given } = (note ?? {}) as Partial<Record<keyof ReleaseNote, unknown>>
  const refuse = (field: string, message: string) =>
    OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
  if (policy !== undefined) checkText(policy, 'policy')
  const since = readMoment(given, 'since')
  if (hold === undefined && policy === undefined) return since === undefined ? undefined : { hold: 'operator', since }
  const name = releasable.find((one) => one === hold)
  if (name === undefined) {
    const approval = hold === 'approval' ? '; approve it instead' : ''
    throw refuse('hold', `must be one of ${releasable.join(', ')}${approval}`)
  }
  if (name === 'limit' && policy === undefined)
    throw refuse('policy', 'is required with the hold limit: the name of the policy that holds it')
  if (name === 'operator' && policy !== undefined) throw refuse('policy', 'is not of a hold of operators; leave it out')
  return { hold: name, policy: policy as string | undefined, since }
}

/** Ends one hold of a transfer: that of an operator, or the one that is named. A hold that somebody added meanwhile stays. */
async function releaseHeld<Tx>(
  backend: HoldingBackend<Tx>,
  tx: Tx,
  transferId: string,
  note: unknown,
  { hold, policy, since }: NamedHold = { hold: 'operator' },
): Promise<boolean> {
  checkControlNote(note, ['hold', 'policy', 'since'])
  const { actor, reason } = note
  const before = await lockHeld(backend, tx, transferId, 'released')
  refuseExpired(transferId, before)
  const isUnjudged = (one: Hold) => one.name === 'operator' && one.policy !== undefined
  const isMeant = (one: Hold) => one.name === hold && (one.policy === policy || isUnjudged(one))
  const released = before.holds.filter(isMeant)
  if (released.length === 0) throw notHeldBy(transferId, before, { hold, policy })
  const other = since === undefined ? undefined : released.find((one) => one.since !== since)
  if (other !== undefined) {
    const message = `The transfer ${transferId} is held by ${other.actor ?? other.policy ?? other.name} since ${other.since} (${other.why}), which is another hold than that of ${since}.`
    throw new OutlayError('conflict', message, { field: 'since' })
  }
  if (released.some(isUnjudged)) {
    const message = `No policy has judged the transfer ${transferId}, which an earlier release enqueued: reject it, and resubmit or enqueue it with this release.`
    throw new OutlayError('conflict', message)
  }
  if (hold !== 'operator') refuseCreator(transferId, before, actor, 'release it')
  const isSent = await backend.releaseHolds(tx, transferId, released)
  const holds = before.holds.filter((one) => !isMeant(one))
  await backend.recordAudit(tx, {
    ...{ command: 'transfers.release', actor, reason, transferId, before: { stage: 'held', holds: before.holds } },
    after: { stage: isSent ? 'queued' : 'held', holds, released },
  })
  return true
}

/** Says what holds it instead, and how that ends. */
function notHeldBy(transferId: string, state: HeldState, { hold, policy }: NamedHold): OutlayError {
  const missing = findMissing(state)
  const ways = state.holds.map(({ name, policy: by }) => {
    const what = by === undefined ? name : `${name} of the policy ${by}`
    if (name === 'approval')
      return `${what}: approve it${missing.length === 0 ? '' : ` (${describeSteps(missing)} is missing)`}, or reject it`
    return `${what}: release it with { hold: '${name}'${by === undefined ? '' : `, policy: '${by}'`} }`
  })
  const asked = policy === undefined ? hold : `${hold} of the policy ${policy}`
  const message = `The transfer ${transferId} is not held by ${asked}, but by ${ways.join('; by ')}.`
  return new OutlayError('conflict', message, { field: 'hold' })
}
