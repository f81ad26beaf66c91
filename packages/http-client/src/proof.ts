import { type HttpAnswer, readHeader } from './exchange.ts'
import type { Refusal } from './refusal.ts'

/** Codes of the specification for what is found out behind the idempotency key. Specification: "Errors". */
const specifiedCodes: readonly (string | undefined)[] = [
  'insufficient_balance',
  'idempotency_key_mismatch',
  'invalid_account_number',
]

const isSet = (answer: HttpAnswer, name: string): boolean => readHeader(answer, name)?.trim().toLowerCase() === 'true'

/** True when an answer says that it was decided behind the idempotency key, or that it was given before. */
export const isMarked = (answer: HttpAnswer): boolean =>
  isSet(answer, 'idempotency-key-evaluated') || isSet(answer, 'idempotent-replayed')

/**
 * True when a refusal of a create proves that its idempotency key was looked up before: by a mark, or, from a service that
 * knows no marks, by a 422 with a code of the specification, which has the key looked at first. A page without a code proves
 * nothing, whatever its headers say.
 */
export const isDecidedBehindKey = (answer: HttpAnswer, { status, code, stated }: Refusal): boolean =>
  stated && (isMarked(answer) || (status === 422 && specifiedCodes.includes(code)))
