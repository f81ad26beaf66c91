import { obstacles } from '../error.ts'
import type { AnswerMarks, Observation, RegisterResult, SubmitResult } from '../ports/gateway.ts'
import type { ListPage } from '../ports/work.ts'
import {
  type ForeignValue,
  longestText,
  NotUnderstood,
  openForeign,
  readDuration,
  readId,
  readText,
  readWhole,
  requireText,
} from './foreign-value.ts'
import { readObservation } from './observation.ts'

/** Called with the member of an answer that was not understood. Never with its value, which may be anything. */
export type OnNotUnderstood = (field: string) => void

/**
 * Reads a gateway's answer to a submission. An answer that is not understood is unknown: money may have moved. Unknown members
 * are passed on when they are text, a boolean or a number, and dropped otherwise.
 */
export function readSubmitResult(value: unknown, onNotUnderstood: OnNotUnderstood): SubmitResult {
  return orUnknown(onNotUnderstood, () => {
    const answer = openForeign(value)
    const marks = { ...readSimple(value), ...readMarks(answer) }
    const outcome = answer.get('outcome')
    switch (outcome) {
      case 'accepted': {
        const remoteId = readId(answer, 'remoteId')
        const observation = readAcceptedObservation(answer, remoteId, onNotUnderstood)
        return { ...marks, outcome, remoteId, observation }
      }
      case 'insufficient_balance':
        return { ...marks, outcome, detail: readText(answer, 'detail') ?? '' }
      default:
        return readOther(answer, outcome, marks)
    }
  })
}

/** Reads a gateway's answer to a registration. An answer that is not understood is unknown. */
export function readRegisterResult(value: unknown, onNotUnderstood: OnNotUnderstood): RegisterResult {
  return orUnknown(onNotUnderstood, () => {
    const answer = openForeign(value)
    const marks = { ...readSimple(value), ...readMarks(answer) }
    const outcome = answer.get('outcome')
    if (outcome === 'accepted') return { ...marks, outcome, addressId: readId(answer, 'addressId') }
    return readOther(answer, outcome, marks)
  })
}

type OtherResult = Exclude<SubmitResult, { readonly outcome: 'accepted' | 'insufficient_balance' }>

function readOther(answer: ForeignValue, outcome: unknown, marks: AnswerMarks): OtherResult {
  const detail = readText(answer, 'detail') ?? ''
  switch (outcome) {
    case 'rejected':
      return { ...marks, outcome, code: requireText(answer, 'code'), detail }
    case 'key_mismatch':
    case 'unauthorized':
      return { ...marks, outcome, detail }
    case 'throttled':
    case 'unknown':
      return { ...marks, outcome, retryAfterMs: readDuration(answer, 'retryAfterMs'), detail }
    default:
      return answer.fail('outcome', 'must be an outcome that this release knows')
  }
}

function orUnknown<T>(
  onNotUnderstood: OnNotUnderstood,
  read: () => T,
): T | { readonly outcome: 'unknown'; readonly detail: string } {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error
    onNotUnderstood(error.field)
    return { outcome: 'unknown', detail: `the gateway gave an answer that is not understood: ${error.message}` }
  }
}

/** Members whose type makes them harmless wherever they end up. */
function readSimple(value: unknown): AnswerMarks {
  const simple: Record<string, unknown> = {}
  try {
    for (const [name, member] of Object.entries(value as object)) {
      if (typeof member === 'boolean' || Number.isFinite(member)) simple[name] = member
      if (typeof member === 'string') simple[name] = member.slice(0, longestText)
    }
  } catch {
    throw new NotUnderstood('', 'must be readable')
  }
  return simple
}

function readMarks(answer: ForeignValue): AnswerMarks {
  return {
    httpStatus: readWhole(answer, 'httpStatus', 0, 999),
    requestId: readText(answer, 'requestId'),
    // One that this release does not know says nothing: the outcome alone counts.
    obstacle: obstacles.find((known) => known === answer.get('obstacle')),
  }
}

/** An acceptance counts whatever its observation is: the next poll reads the status. */
function readAcceptedObservation(
  answer: ForeignValue,
  remoteId: string,
  onNotUnderstood: OnNotUnderstood,
): Observation | undefined {
  try {
    const value = answer.get('observation')
    const observation = value === undefined ? undefined : readObservation(value, 'observation', onNotUnderstood)
    return observation?.remoteId === remoteId ? observation : undefined
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error
    onNotUnderstood(error.field)
    return undefined
  }
}

/**
 * Reads a gateway's answer to a poll; undefined when it found nothing.
 * @throws NotUnderstood when it is no observation of that transfer: it must not count as a transfer that the other side does
 *   not have
 */
export function readFound(value: unknown, remoteId: string, onNotUnderstood: OnNotUnderstood): Observation | undefined {
  if (value === undefined) return undefined
  try {
    const observation = readObservation(value, '', onNotUnderstood)
    if (observation.remoteId === remoteId) return observation
    throw new NotUnderstood('remoteId', 'must be the id that was asked for')
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error
    onNotUnderstood(error.field)
    throw error
  }
}

/**
 * Reads a page of a list. An observation that is not understood is left out; the others count.
 * @throws NotUnderstood when it is no page
 */
export function readListPage(value: unknown, onNotUnderstood: OnNotUnderstood): ListPage {
  const page = openForeign(value)
  const items = page.get('observations')
  if (!Array.isArray(items)) return page.fail('observations', 'must be a list')
  const observations = Array.from(items, (item: unknown) => {
    try {
      return readObservation(item, '', (field) => onNotUnderstood(`observations.${field}`))
    } catch (error) {
      if (!(error instanceof NotUnderstood)) throw error
      onNotUnderstood(`observations.${error.field}`)
      return undefined
    }
  }).filter((item) => item !== undefined)
  const unreadable =
    items.length - observations.length + (readWhole(page, 'unreadable', 0, Number.MAX_SAFE_INTEGER) ?? 0)
  const read = unreadable === 0 ? { observations } : { observations, unreadable }
  const next = page.get('next')
  if (next === undefined || next === null) return read
  return typeof next === 'string' ? { ...read, next } : page.fail('next', 'must be a text')
}
