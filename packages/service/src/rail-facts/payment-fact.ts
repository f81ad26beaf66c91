import { createHash } from 'node:crypto'
import { Amount } from '@outlay/core'
import { z } from 'zod'
import { foreignId, foreignMoment, foreignText } from '../rails/foreign-text.ts'
import type { RailFact } from '../rails/port.ts'
import { marksOf } from './earlier-return.ts'
import { amountOf, type NewRailFact, type StoredRailFact } from './rail-facts.ts'

const paymentKinds = ['accepted', 'settled', 'rejected', 'returned', 'canceled'] as const

const amount = z.unknown().transform((given, check) => {
  try {
    const { value, currency } = Amount.parse(given)
    if (foreignId.safeParse(currency).success) return { value, currency }
  } catch {
    // It is refused below.
  }
  check.addIssue({ code: 'custom', message: 'It must be an amount.' })
  return z.NEVER
})

const code = foreignText.pipe(z.string().min(1).max(255))

/** A detail that is no text is left out: it must not keep money from being booked. */
const detail = foreignText.nullish().catch(undefined)

const leg = z.object({
  transactionId: foreignId.optional(),
  paymentDetails: z
    .object({
      ...{ receivedAt: detail, senderName: detail, senderBankName: detail, senderBankRoutingNumber: detail },
      ...{ paymentReference: detail, imad: detail, traceNumber: detail },
    })
    .optional()
    .catch(undefined),
})

const readable = z.object({
  kind: z.enum(paymentKinds),
  reference: foreignId,
  transferId: foreignId,
  accountId: foreignId,
  amount,
  failure: z
    .object({
      type: z.enum(['rejected', 'returned', 'expired', 'insufficient_balance', 'service_error', 'unknown']),
      code,
      detail: foreignText,
      occurredAt: foreignMoment,
      retriable: z.boolean(),
      achReturn: z.object({ code, reason: foreignText, category: foreignText }).optional(),
    })
    .nullable(),
  reachedAt: foreignMoment.optional(),
  source: leg.optional(),
  destination: leg.optional(),
  returnReference: foreignId.optional(),
})

/** What a rail said about a payment, read once: it is applied as it is stored. */
export interface ReadPaymentFact {
  /** As the rail wrote it, for the answer. */
  readonly reference: unknown
  readonly row: NewRailFact
}

/** Reads a fact of a payment. What the port does not describe becomes `unreadable`, whatever it is. Never throws. */
export function readPaymentFact(said: unknown): ReadPaymentFact {
  const reference = referenceOf(said)
  const fact = parse(said)
  return { reference, row: fact === undefined ? unreadable(reference, said) : rowOf(fact) }
}

function rowOf(fact: RailFact): NewRailFact {
  const { kind, reference, transferId, accountId, amount, ...payload } = fact
  const said = { kind, reference, transferId, accountId, amount, payload }
  // What is said in words may change from one report of a return to the next, and must not make it another one.
  return kind === 'returned' ? { ...said, identity: marksOf(fact) } : said
}

/** Longest JSON of a fact that cannot be read, in characters; of more, the beginning is kept as text. */
const longestSaid = 4_000

function unreadable(reference: unknown, said: unknown): NewRailFact {
  const text = jsonOf(said)
  const payload =
    text.length <= longestSaid
      ? { said: JSON.parse(text) as unknown }
      : { said: text.slice(0, longestSaid), sha256: createHash('sha256').update(text).digest('hex') }
  return { kind: 'unreadable', reference: textOf(reference).slice(0, 255), payload }
}

/** A fact that Postgres refuses to store as it is. */
export function unstorable({ reference, ...rest }: NewRailFact): NewRailFact {
  const sha256 = createHash('sha256')
    .update(jsonOf({ reference, ...rest }))
    .digest('hex')
  return { kind: 'unreadable', reference: `unstorable ${sha256}`, payload: { sha256 } }
}

function jsonOf(said: unknown): string {
  try {
    return JSON.stringify(said) ?? 'null'
  } catch {
    return '"It is no JSON."'
  }
}

function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return ''
  }
}

/** A getter may throw. */
function referenceOf(said: unknown): unknown {
  try {
    return (said as RailFact | null | undefined)?.reference
  } catch {
    return undefined
  }
}

function parse(said: unknown): RailFact | undefined {
  try {
    const read = readable.safeParse(said)
    return read.success ? read.data : undefined
  } catch {
    return undefined
  }
}

/** True for a stored fact of a payment. */
export function isPayment({ kind }: StoredRailFact): boolean {
  return (paymentKinds as readonly string[]).includes(kind)
}

/** The fact of a payment that was stored; `undefined` for one that cannot be read, such as a few of earlier releases. */
export function paymentFactOf(stored: StoredRailFact): RailFact | undefined {
  const { kind, reference, transferId, accountId, payload } = stored
  return parse({ kind, reference, transferId, accountId, amount: amountOf(stored), ...payload })
}
