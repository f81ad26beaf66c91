import { Approval, type ApprovalStep } from '../approval.ts'
import { OutlayError } from '../error.ts'
import { checkNames } from '../option-names.ts'
import type { Backend } from '../ports/backend.ts'
import type { HeldState, Hold } from '../ports/holds.ts'
import { checkActor, checkControlNote } from './actors.ts'
import { checkText } from './checked-text.ts'
import { findTransfer, isKnowable, notCancelable } from './commands.ts'
import type { ApprovalResult, ApproveOptions, HeldTransfers } from './control-commands.ts'

/** What commands of held transfers need of the backend. */
export type HoldingBackend<Tx> = Pick<
  Backend<Tx>,
  | 'get'
  | 'getHolds'
  | 'getHoldsOf'
  | 'lockHolds'
  | 'hold'
  | 'addApproval'
  | 'releaseHolds'
  | 'rejectHeld'
  | 'recordAudit'
  | 'tryRecordAudit'
>

/** Checks an approval, before any SQL. */
export function checkApproval(approval: unknown): asserts approval is ApproveOptions {
  checkNames(approval ?? {}, ['actor', 'roles', 'note'])
  const { actor, roles, note } = (approval ?? {}) as Partial<ApproveOptions>
  checkActor(actor)
  if (note !== undefined) checkText(note, 'note')
  if (roles === undefined) return
  if (!Array.isArray(roles)) {
    throw OutlayError.fromIssues([{ field: 'roles', code: 'invalid_request', message: 'must be a list of roles' }])
  }
  for (const [at, role] of roles.entries()) checkActor(role, `roles.${at}`)
}

/** The parts of a held state that decide what is missing. */
type Requirements = Pick<HeldState, 'holds'> & {
  readonly approvals: readonly Pick<Approval, 'actor' | 'roles'>[]
}

/** The approvals that are missing for what holds a transfer, one step for each. */
export const findMissing = ({ holds, approvals }: Requirements): readonly ApprovalStep[] =>
  holds.flatMap(({ requirement }) =>
    requirement === undefined || !Approval.isKnown(requirement) ? [] : Approval.missing(requirement, approvals),
  )

/** Creates the commands of held transfers. Each checks its input before any SQL, so that a refusal leaves the transaction usable. */
export function createHolding<Tx>(backend: HoldingBackend<Tx>): Omit<HeldTransfers<Tx>, 'answerScreening'> {
  return {
    async approve(tx, transferId, approval) {
      checkApproval(approval)
      return approve(backend, tx, transferId, approval)
    },
    async reject(tx, transferId, note) {
      checkControlNote(note)
      const { holds, ...state } = await lockHeld(backend, tx, transferId, 'rejected')
      if (!(await backend.rejectHeld(tx, transferId))) {
        throw notCancelable(await findTransfer(backend, tx, transferId))
      }
      const before = { stage: 'held', holds, approvals: state.approvals }
      const after = { stage: 'settled', status: 'canceled', reason: 'rejected' }
      await backend.recordAudit(tx, { command: 'transfers.reject', ...note, transferId, before, after })
    },
    async hold(tx, transferId, note) {
      checkControlNote(note)
      const { stage, status } = await findTransfer(backend, tx, transferId)
      const held = await backend.hold(tx, transferId, note)
      if (held === 'claimed') {
        const now = await findTransfer(backend, tx, transferId)
        const message =
          now.stage === 'settled'
            ? `The transfer ${transferId} is ${now.status}; there is nothing to hold.`
            : `The transfer ${transferId} cannot be held: a worker has claimed it, so its request may have left (it is ${now.stage}). Stop its account or its gateway, or wait until it is final.`
        throw new OutlayError('conflict', message)
      }
      const entry = { command: 'transfers.hold', ...note, transferId }
      if (held === 'before') {
        // It has one place for what people hold. Whoever releases that has to see that somebody else wanted it held, too.
        const { holds = [] } = (await backend.getHolds(transferId, tx)) ?? {}
        const first = holds.filter(({ name }) => name === 'operator')
        if (!first.some(({ actor }) => actor !== undefined && Approval.sameActor(actor, note.actor)))
          await backend.recordAudit(tx, {
            ...entry,
            before: { stage, status, holds: first },
            after: { changed: false },
          })
        return false
      }
      const [before, after] = [
        { stage, status },
        { stage: 'held', status, hold: 'operator' },
      ]
      await backend.recordAudit(tx, { ...entry, before, after })
      return true
    },
    async holds(transferId, tx) {
      const state = isKnowable(transferId) ? await backend.getHolds(transferId, tx) : undefined
      return state === undefined ? undefined : { ...state, missing: findMissing(state) }
    },
  }
}

/** What holds a transfer, locked; throws `conflict` where it is not held. */
export async function lockHeld<Tx>(
  backend: HoldingBackend<Tx>,
  tx: Tx,
  transferId: string,
  verb: string,
): Promise<HeldState> {
  const state = isKnowable(transferId) ? await backend.lockHolds(tx, transferId) : undefined
  if (state !== undefined && state.holds.length > 0) return state
  const { stage, status } = await findTransfer(backend, tx, transferId)
  throw new OutlayError('conflict', `The transfer ${transferId} is ${stage} and ${status}; only a held one is ${verb}.`)
}

async function approve<Tx>(
  backend: HoldingBackend<Tx>,
  tx: Tx,
  transferId: string,
  approval: ApproveOptions,
): Promise<ApprovalResult> {
  const before = await lockHeld(backend, tx, transferId, 'approved')
  refuseExpired(transferId, before)
  refuseApprover(transferId, before, approverOf(approval))
  const isComplete = findMissing(before).length === 0
  if (!isComplete) await backend.addApproval(tx, [transferId], writtenApproval(approval))
  // Read again: the host may have approved it twice at once in this transaction, and each has seen the state before both.
  const now = isComplete ? before : await backend.getHolds(transferId, tx)
  return applyApproval(backend, tx, { transferId, before, now: now ?? before }, approval)
}

const approverOf = ({ actor, roles = [] }: ApproveOptions) => ({ actor, roles })

const writtenApproval = ({ actor, roles = [], note }: ApproveOptions) => ({ actor, roles, note })

/** Ends the holds whose approvals are complete, and writes down the approval. */
async function applyApproval<Tx>(
  backend: HoldingBackend<Tx>,
  tx: Tx,
  { transferId, before, now }: { readonly transferId: string; readonly before: HeldState; readonly now: HeldState },
  { actor, roles = [], note }: ApproveOptions,
): Promise<ApprovalResult> {
  const isDone = ({ requirement }: Hold) =>
    requirement !== undefined &&
    Approval.isKnown(requirement) &&
    Approval.missing(requirement, now.approvals).length === 0
  const done = now.holds.filter(isDone)
  const holds = now.holds.filter((hold) => !isDone(hold))
  const released = done.length > 0 && (await backend.releaseHolds(tx, transferId, done))
  await backend.recordAudit(tx, {
    ...{ command: 'transfers.approve', actor, reason: note ?? null, transferId },
    before: { holds: before.holds, approvals: before.approvals },
    after: { holds, roles, released },
  })
  return { released, holds, missing: findMissing({ holds, approvals: now.approvals }) }
}

/** Approves those of the locked transfers that ask for it and that the actor has not approved yet, all of them or none. */
export async function approveAll<Tx>(
  backend: HoldingBackend<Tx>,
  tx: Tx,
  states: ReadonlyMap<string, HeldState>,
  approval: ApproveOptions,
  endTurn: () => Promise<void>,
): Promise<{ readonly approved: number; readonly released: number }> {
  const approver = approverOf(approval)
  const asking: (readonly [string, HeldState])[] = []
  const adding: string[] = []
  // Refused before anything is written.
  for (const [id, state] of states) {
    await endTurn()
    if (!isAsking(state, approver)) continue
    refuseApprover(id, state, approver)
    asking.push([id, state])
    if (findMissing(state).length > 0) adding.push(id)
  }
  if (adding.length > 0) await backend.addApproval(tx, adding, writtenApproval(approval))
  const after = adding.length === 0 ? states : await backend.getHoldsOf(tx, adding)
  let released = 0
  for (const [transferId, before] of asking) {
    const change = { transferId, before, now: after.get(transferId) ?? before }
    released += Number((await applyApproval(backend, tx, change, approval)).released)
    await endTurn()
  }
  return { approved: asking.length, released }
}

/** True for what waits for this approver, and for what has all approvals and is held all the same. */
function isAsking(state: HeldState, approver: Pick<Approval, 'actor' | 'roles'>): boolean {
  if (!state.holds.some(({ requirement }) => requirement !== undefined)) return false
  const isApproved = state.approvals.some(({ actor }) => Approval.sameActor(actor, approver.actor))
  return !isApproved || countsFor(state, approver) || findMissing(state).length === 0
}

/** True when the approval brings the transfer nearer to what is asked for. */
const countsFor = ({ holds, approvals }: Requirements, approver: Pick<Approval, 'actor' | 'roles'>): boolean =>
  holds.some(({ requirement }) => requirement !== undefined && Approval.counts(requirement, approvals, approver))

/** Throws for an approver that may not approve this transfer now. */
function refuseApprover(transferId: string, state: HeldState, approver: Pick<Approval, 'actor' | 'roles'>): void {
  const { holds, approvals } = state
  const asking = holds.flatMap(({ requirement }) => requirement ?? [])
  if (asking.length === 0) {
    const names = holds.map(({ name }) => name).join(', ')
    throw new OutlayError(
      'conflict',
      `The transfer ${transferId} is held by ${names}, and not for approval; release it.`,
    )
  }
  if (!asking.every(Approval.isKnown)) {
    const message = `The transfer ${transferId} is held for an approval that this release does not know; approve it with the release that enqueued it, or reject it.`
    throw new OutlayError('conflict', message)
  }
  const refuse = (message: string) => new OutlayError('approval_refused', message, { field: 'actor' })
  refuseCreator(transferId, state, approver.actor, 'approve it')
  const missing = findMissing({ holds, approvals })
  // Nobody else is asked for: it only has to be released.
  if (missing.length === 0 || countsFor({ holds, approvals }, approver)) return
  if (approvals.some(({ actor }) => Approval.sameActor(actor, approver.actor)))
    throw refuse(
      `${approver.actor} has approved the transfer ${transferId} already; somebody else has to approve it too.`,
    )
  const has = approver.roles.length === 0 ? 'no role' : approver.roles.join(', ')
  throw refuse(`The transfer ${transferId} needs ${describeSteps(missing)} now; ${approver.actor} has ${has}.`)
}

/** Throws for who asked for the payment: created it, or one that it was resubmitted in place of. */
export function refuseCreator(transferId: string, state: HeldState, actor: string, act: string): void {
  if (!Approval.isCreator(state, actor)) return
  const { createdBy } = state
  const what =
    createdBy !== null && Approval.sameActor(createdBy, actor) ? '' : 'one in whose place somebody has resubmitted '
  const message = `${actor} created ${what}the transfer ${transferId}; somebody else has to ${act}.`
  throw new OutlayError('approval_refused', message, { field: 'actor' })
}

/** The steps as a sentence has them. */
export const describeSteps = (steps: readonly ApprovalStep[]): string =>
  steps.map(({ roles }) => (roles === undefined ? 'an approval' : `an approval of ${roles.join(' or ')}`)).join(', ')

/** Late approvals and releases change nothing: it is about to end. */
export function refuseExpired(transferId: string, { isExpired }: HeldState): void {
  if (!isExpired) return
  const message = `The transfer ${transferId} was to be sent before its expiresAt, which has passed; it fails as expired. Resubmit it then if it is still wanted.`
  throw new OutlayError('conflict', message)
}
