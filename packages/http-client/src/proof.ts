import { type HttpAnswer, readHeader } from './exchange.ts'
import { type Refusal, readRefusal } from './refusal.ts'

/** Codes of refusals that the service decides after it has checked the idempotency key. Specification: "Errors". */
const specifiedCodes: readonly (string | undefined)[] = [
  'insufficient_balance',
  'idempotency_key_mismatch',
  'invalid_account_number',
]

const isSet = (answer: HttpAnswer, name: string): boolean => readHeader(answer, name)?.trim().toLowerCase() === 'true'

/** True when an answer says that the service checked the idempotency key first, or that the answer is a replay. */
export const isMarked = (answer: HttpAnswer): boolean =>
  isSet(answer, 'idempotency-key-evaluated') || isSet(answer, 'idempotent-replayed')

/**
 * True when a refusal of a create proves that the service checked the idempotency key first. The proof is a mark, or, from a
 * service without marks, a 422 with a code of the specification, which requires the service to check the key first. A page
 * without a code proves nothing, regardless of its headers.
 */
export const isDecidedBehindKey = (answer: HttpAnswer, { status, code, stated }: Refusal): boolean =>
  stated && (isMarked(answer) || (status === 422 && specifiedCodes.includes(code)))

/** True when a refusal that is no lack of funds is kept under its key: a service that marks one has stored it in the transaction that has the key. */
export const isKept = (answer: HttpAnswer, { stated }: Refusal): boolean => stated && isMarked(answer)

/**
 * True when the service itself refused. A page without a code may be a proxy's, written after the service has acted; but who asks
 * for credentials as RFC 9110 says has passed nothing on.
 */
export const isOwnAnswer = (answer: HttpAnswer, { stated }: Pick<Refusal, 'stated'>): boolean =>
  stated || (answer.status === 401 && readHeader(answer, 'www-authenticate') !== undefined)

/** The same of a refusal that was not read yet. */
export const isOwnRefusal = (answer: HttpAnswer, now: Date): boolean =>
  isOwnAnswer(answer, readRefusal(answer, now, []))
