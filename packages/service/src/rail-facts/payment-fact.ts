import { z } from 'zod'
import {
  foreignAmount,
  foreignDetails,
  foreignId,
  foreignMoment,
  foreignReference,
  foreignText,
  namedBy,
  optional,
} from '../rails/foreign-value.ts'
import type { RailFact } from '../rails/port.ts'
import { marksOf } from './earlier-return.ts'
import { amountOf, type NewRailFact, type StoredRailFact } from './rail-facts.ts'
import { referenceOf, unreadable } from './unreadable-fact.ts'

const paymentKinds = ['accepted', 'settled', 'rejected', 'returned', 'canceled'] as const

const code = foreignText.pipe(z.string().min(1).max(255))

const failure = z.object({
  type: z.enum(['rejected', 'returned', 'expired', 'insufficient_balance', 'service_error', 'unknown']),
  code,
  detail: foreignText,
  occurredAt: foreignMoment,
  retriable: z.boolean(),
  achReturn: optional(z.object({ code, reason: foreignText, category: foreignText })),
})

/** Reads a fact whose ids are as given. */
const factWith = (id: z.ZodType<string>) => {
  const leg = z.object({
    transactionId: optional(id).transform((read) => (namedBy(read) === undefined ? undefined : read)),
    paymentDetails: foreignDetails.optional().catch(undefined),
  })
  return z.object({
    kind: z.enum(paymentKinds),
    reference: foreignReference,
    transferId: id,
    accountId: id,
    amount: foreignAmount,
    failure: optional(failure).transform((read) => read ?? null),
    reachedAt: optional(foreignMoment),
    source: optional(leg),
    destination: optional(leg),
    returnReference: optional(id),
  })
}

const reported = factWith(foreignId)

/** An earlier release stored ids with white space at their ends. They are known as they are. */
const stored = factWith(foreignReference)

/** What a rail said about a payment, read once: it is applied as it is stored. */
export interface ReadPaymentFact {
  /** As the rail wrote it, for the answer. */
  readonly reference: unknown
  readonly row: NewRailFact
}

/** Reads a fact of a payment. What the port does not describe becomes `unreadable`, whatever it is. Never throws. */
export function readPaymentFact(said: unknown): ReadPaymentFact {
  const reference = referenceOf(said)
  const fact = parse(reported, said)
  return { reference, row: fact === undefined ? unreadable(said) : rowOf(fact) }
}

function rowOf(fact: RailFact): NewRailFact {
  const { kind, reference, transferId, accountId, amount, ...payload } = fact
  const said = { kind, reference, transferId, accountId, amount, payload }
  // What is said in words may change from one report of a return to the next, and must not make it another one.
  return kind === 'returned' ? { ...said, marks: marksOf(fact) } : said
}

function parse(readable: typeof stored, said: unknown): RailFact | undefined {
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
export function paymentFactOf(row: StoredRailFact): RailFact | undefined {
  const { kind, reference, transferId, accountId, payload } = row
  return parse(stored, { kind, reference, transferId, accountId, amount: amountOf(row), ...payload })
}
