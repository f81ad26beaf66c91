import { OutlayError } from '../error.ts'
import { checkNames } from '../option-names.ts'
import type { Backend } from '../ports/backend.ts'
import type { Claim, Settlement } from '../ports/claim.ts'
import type { Logger } from '../ports/runtime.ts'
import type { OperatorNote, SendingState, Stop, StopTarget } from '../ports/safety.ts'
import { readAnyNote, readMoment } from './actors.ts'
import { createHoldingBackRecord, type HoldingBackRecord, recordCommand } from './audited.ts'
import { checkFlag, checkText } from './checked-text.ts'
import type { Engine, Stops } from './engine.ts'
import { checkAccountId } from './enqueueing.ts'
import { waiting } from './submission.ts'

/** Pause until a transfer that was put back may be claimed again, in milliseconds; while the stop lasts, no worker claims it. */
const putBackMs = 500

type SafetyBackend<Tx> = Pick<Backend<Tx>, 'operations' | 'recordAudit' | 'tryRecordAudit'>

/** Creates the commands for stops. */
function createStops<Tx>(
  backend: SafetyBackend<Tx>,
  names: readonly string[],
  recordHoldingBack: HoldingBackRecord<Tx>,
): Stops<Tx> {
  const { operations } = backend
  return {
    async add(tx, stop) {
      const target = readTarget(stop, names)
      const note = readNote(stop)
      if (await operations.addStop(tx, target, note)) {
        await recordHoldingBack(tx, note, { command: 'stops.add', after: target })
        return true
      }
      // There is one stop of a target. Whoever ends it has to see that somebody else wanted it stopped, too.
      const first = await findStop(operations, tx, target)
      if (first !== undefined && first.actor !== (note.actor ?? null)) {
        const { since, actor, reason } = first
        const after = { ...target, changed: false }
        await recordHoldingBack(tx, note, { command: 'stops.add', before: { since, actor, reason }, after })
      }
      return false
    },
    async end(tx, stop) {
      const target = readTarget(stop, names)
      const note = readNote(stop)
      const since = readMoment(stop.since, 'since')
      if (!(await operations.endStop(tx, target, since))) {
        const other = since === undefined ? undefined : await findStop(operations, tx, target)
        if (other === undefined) return false
        const { actor, reason } = other
        const message = `It is stopped since ${other.since} by ${actor ?? 'somebody'} (${reason ?? 'no reason given'}), which is another stop than that of ${since}.`
        throw new OutlayError('conflict', message, { field: 'since' })
      }
      await recordCommand(backend, tx, note, { command: 'stops.end', before: target })
      return true
    },
    list: async () => (await operations.state()).stops,
  }
}

/** The stop of a target, as the transaction sees it. */
const findStop = async <Tx>(
  operations: SafetyBackend<Tx>['operations'],
  tx: Tx,
  target: StopTarget,
): Promise<Stop | undefined> => {
  const name = target.scope === 'all' ? null : target.name
  return (await operations.state(tx)).stops.find((one) => one.scope === target.scope && one.name === name)
}

function readTarget(target: StopTarget, names: readonly string[]): StopTarget {
  switch (target?.scope) {
    case 'all':
      return { scope: 'all' }
    case 'account':
      checkAccountId(target.name, 'name')
      return { scope: 'account', name: target.name }
    case 'gateway':
      if (names.includes(target.name)) return { scope: 'gateway', name: target.name }
      throw refuse('name', `This engine has no gateway "${String(target.name)}"; it has ${names.join(', ')}.`)
    default:
      throw refuse('scope', 'A stop is about "all", a "gateway" or an "account".')
  }
}

/** Reads the reason and the actor of a command, before any SQL. */
function readNote(note: OperatorNote): OperatorNote {
  const { reason, actor } = note
  if (reason !== undefined) checkText(reason, 'reason')
  if (actor !== undefined) checkText(actor, 'actor')
  return { reason, actor }
}

const refuse = (field: string, message: string) => new OutlayError('invalid_request', message, { field })

/** Puts a claimed transfer back as it was, since nothing may be sent now. Its reason to wait stays the same. */
export function putBack(claim: Claim): Settlement {
  const detail = 'not sent: sending is stopped, fenced, or not known to be allowed'
  const settlement = waiting(claim, { outcome: 'throttled', detail }, claim.reason, putBackMs)
  const answer = { ...settlement.answer, outcome: 'stopped' }
  return { ...settlement, answer, stage: claim.reason === 'insufficient_balance' ? 'awaiting_funds' : 'queued' }
}

/**
 * Whether a request may begin, checked by its sender as late as possible. Remembers a refusal: a transfer that was refused is
 * put back, whatever the gateway returned.
 */
export function createPermit(mayBegin: () => boolean) {
  let refused = false
  return {
    mayBegin: (): boolean => {
      refused = !mayBegin()
      return !refused
    },
    isRefused: (): boolean => refused,
  }
}

/** Creates the commands of {@link Engine} for stops, the fence and the database. */
export function createSafetyCommands<Tx>(
  backend: SafetyBackend<Tx>,
  gatewayNames: readonly string[],
  logger: Logger,
): Pick<Engine<Tx>, 'stops' | 'sending' | 'fence' | 'adoptDatabase'> {
  const { operations } = backend
  const recordHoldingBack = createHoldingBackRecord(backend, logger)
  return {
    stops: createStops(backend, gatewayNames, recordHoldingBack),
    sending: () => operations.state(),
    async fence(tx, given) {
      const note = readAnyNote(given)
      const isNew = await operations.fence(tx, note)
      // Where it was fenced before, the fence is another one all the same.
      await recordHoldingBack(tx, note, {
        command: 'database.fence',
        before: { fenced: !isNew },
        after: { fenced: true },
      })
      return isNew
    },
    async adoptDatabase(tx, adoption = {}) {
      checkNames(adoption, ['deployment', 'moved', 'reason', 'actor'])
      const { deployment, moved } = adoption
      if (deployment !== undefined) checkText(deployment, 'deployment')
      if (moved !== undefined) checkFlag(moved, 'moved')
      const note = readNote(adoption)
      const before = identityOf(await operations.state(tx))
      await operations.adoptDatabase(tx, { ...note, deployment, moved })
      const after = identityOf(await operations.state(tx))
      await recordCommand(backend, tx, note, { command: 'database.adopt', before, after })
    },
  }
}

/** Which database it is, and whether it is fenced. */
const identityOf = ({ unfamiliar, fence, knownDatabase }: SendingState) => ({ unfamiliar, fence, knownDatabase })
