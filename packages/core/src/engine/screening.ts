import { OutlayError } from '../error.ts'
import type { Backend } from '../ports/backend.ts'
import type { Logger, Runtime } from '../ports/runtime.ts'
import {
  type AnsweredScreening,
  type Screener,
  type Screening,
  type ScreeningAnswer,
  screeningResults,
} from '../ports/screening.ts'
import { retryDelayMs } from '../retry.ts'
import { checkControlNote } from './actors.ts'
import { checkText } from './checked-text.ts'
import { findTransfer, isKnowable } from './commands.ts'
import type { ScreeningDecision } from './control-commands.ts'
import { callForeign, graceMs } from './foreign-call.ts'
import { isForeignId, longestId, NotUnderstood, openForeign, readText } from './foreign-value.ts'
import { type HoldingBackend, refuseCreator, refuseExpired } from './holding.ts'
import { type EngineTimeouts, readTimeouts } from './timeouts.ts'

/** Longest text of an error that is kept. */
const longestError = 500

/** Pauses after calls without an answer, in milliseconds. */
const shortestPauseMs = 1_000
const longestPauseMs = 120_000

/**
 * Reads the answer of a screener.
 * @throws NotUnderstood for what is none
 */
function readScreeningAnswer(value: unknown): ScreeningAnswer {
  const given = openForeign(value)
  const said = given.get('result')
  const result = screeningResults.find((one) => one === said)
  if (result === undefined) return given.fail('result', `must be one of ${screeningResults.join(', ')}`)
  const named = given.get('case') ?? undefined
  if (named !== undefined && !isForeignId(named))
    return given.fail('case', `must be 1 to ${longestId} characters without control characters`)
  const note = readText(given, 'note')
  return { result, case: named, ...(note === undefined || note === '' ? {} : { note }) }
}

/** Makes what asks the screener of an engine; undefined where it has none. What is no answer is a failure, which holds. */
export function createScreening(
  { screen, timeouts }: { readonly screen?: Screener | undefined; readonly timeouts?: EngineTimeouts | undefined },
  { timer, logger, random }: Pick<Runtime, 'timer' | 'logger' | 'random'>,
): Screening | undefined {
  if (screen === undefined) return undefined
  const limitMs = readTimeouts(timeouts).screenMs
  return {
    longestMs: limitMs + graceMs,
    async screen(transfer, signal) {
      try {
        const bounds = { call: 'screen', limitMs, signal }
        const answer = await callForeign<unknown>({ timer, logger }, bounds, (own) => screen(transfer, own))
        return { answer: readScreeningAnswer(answer) }
      } catch (error) {
        return { failure: describe(error) }
      }
    },
    // Never at once: who has no answer now has none a moment later.
    pauseMs: (failures) =>
      shortestPauseMs + retryDelayMs({ attempt: failures, fraction: random.fraction(), capMs: longestPauseMs }),
  }
}

/** A screener that nothing calls would be taken for a control. */
export async function warnOfUnscreened<Tx>(
  { backend, screen }: { readonly backend: Pick<Backend<Tx>, 'getPolicies'>; readonly screen?: unknown },
  logger: Logger,
): Promise<void> {
  if (screen === undefined) return
  const { policies = [] } = (await backend.getPolicies()) ?? {}
  if (policies.some((policy) => policy.screen !== undefined)) return
  logger.warn(
    {},
    'The engine has a screener, and no policy asks for screening: nothing is screened. Set a policy with `screen`.',
  )
}

function describe(error: unknown): string {
  const { name, message } = error as Error
  const text = error instanceof NotUnderstood ? `the answer was not understood: ${message}` : `${name}: ${message}`
  return text.slice(0, longestError)
}

/** Throws Error unless it can be called. */
export function checkScreener(screener: unknown): void {
  if (screener === undefined || typeof screener === 'function') return
  throw new Error('The option screen is a function that is given a transfer and a signal, or left out.')
}

/** What a later answer needs of the backend. */
type AnsweringBackend<Tx> = HoldingBackend<Tx> & Pick<Backend<Tx>, 'answerScreening'>

/** Takes a later answer about a transfer that screening holds. */
export async function answerScreening<Tx>(
  backend: AnsweringBackend<Tx>,
  tx: Tx,
  transferId: string,
  decision: ScreeningDecision,
): Promise<AnsweredScreening> {
  checkControlNote(decision, ['result', 'case', 'asks'])
  const { actor, reason, result, asks } = decision
  if (!screeningResults.some((one) => one === result)) {
    const message = `must be one of ${screeningResults.join(', ')}`
    throw OutlayError.fromIssues([{ field: 'result', code: 'invalid_request', message }])
  }
  if (decision.case !== undefined) checkText(decision.case, 'case')
  const before = isKnowable(transferId) ? await backend.lockHolds(tx, transferId) : undefined
  if (before === undefined) await findTransfer(backend, tx, transferId)
  const holds = before?.holds ?? []
  const screened = holds.find(({ name }) => name === 'screening')
  const state = screened?.screening
  const named = decision.case ?? (asks === undefined || result === 'hold' ? undefined : state?.case)
  // Behind the lock: of two people who answer what both have seen, one is refused.
  if (asks !== undefined && state !== undefined && state.asks !== asks) {
    const message = `A newer answer of the screening holds the transfer ${transferId} than the one that was shown.`
    throw new OutlayError('conflict', message, { field: 'asks' })
  }
  if (before !== undefined && screened !== undefined && result === 'pass') {
    refuseExpired(transferId, before)
    refuseCase(transferId, state, named)
    refuseCreator(transferId, before, actor, 'let it pass')
  }
  const answer = { result, case: named, note: reason, by: actor }
  const answered = await backend.answerScreening(tx, transferId, answer)
  if (answered.isCounted) {
    await backend.recordAudit(tx, {
      ...{ command: 'transfers.answer_screening', actor, reason, transferId, before: { stage: 'held', holds } },
      after: { result, case: named ?? null, released: answered.isReleased },
    })
  }
  return answered
}

/** A pass is about the case that holds the transfer: one that came before the case, or is about another one, lets nothing go. */
function refuseCase(
  transferId: string,
  state: { readonly isOnHold: boolean; readonly case?: string | undefined } | undefined,
  named: string | undefined,
): void {
  const refuse = (message: string) => new OutlayError('conflict', message, { field: 'case' })
  if (state?.isOnHold !== true)
    throw refuse(`No answer has put the transfer ${transferId} on hold yet, so nothing lets it pass but the screener.`)
  if (state.case === named) return
  const known = state.case === undefined ? 'without a case' : `for the case ${state.case}`
  throw refuse(`The transfer ${transferId} is on hold ${known}, and not for ${named ?? 'none'}.`)
}
