import { Amount } from '@outlay/core'
import { z } from 'zod'
import type { RailFact } from '../rails/port.ts'
import { amountOf, type NewRailFact, type StoredRailFact } from './rail-facts.ts'

const paymentKinds = ['accepted', 'settled', 'rejected', 'returned', 'canceled'] as const
const time = z.iso.datetime({ offset: true })
const text = z.string()
const name = z.string().min(1).max(255)

const readable = z.object({
  kind: z.enum(paymentKinds),
  reference: name,
  transferId: name,
  accountId: name,
  amount: z.unknown().refine(isAmount),
  failure: z
    .object({
      type: z.enum(['rejected', 'returned', 'expired', 'insufficient_balance', 'service_error', 'unknown']),
      code: name,
      detail: text,
      occurredAt: time,
      retriable: z.boolean(),
      achReturn: z.object({ code: name, reason: text, category: text }).optional(),
    })
    .nullable(),
  reachedAt: time.optional(),
  source: z.object({ transactionId: name.optional() }).optional(),
  destination: z.object({ transactionId: name.optional() }).optional(),
})

function isAmount(value: unknown): boolean {
  try {
    Amount.parse(value)
    return true
  } catch {
    return false
  }
}

/** A fact of a payment in the form that is stored. What the port does not describe becomes `unreadable`, whatever it is. */
export function storable(fact: RailFact): NewRailFact {
  if (!readable.safeParse(fact).success) {
    const { reference } = fact ?? {}
    return { kind: 'unreadable', reference: String(reference).slice(0, 255), payload: { said: fact ?? null } }
  }
  const { kind, reference, transferId, accountId, amount, failure, reachedAt, source, destination } = fact
  return {
    ...{ kind, reference, transferId, accountId, amount },
    payload: { failure, reachedAt, source, destination },
  }
}

/** True for a stored fact of a payment. */
export function isPayment({ kind }: StoredRailFact): boolean {
  return (paymentKinds as readonly string[]).includes(kind)
}

/** The fact of a payment that was stored. */
export function paymentFactOf(stored: StoredRailFact): RailFact {
  const { kind, reference, transferId, accountId, payload } = stored
  const amount = amountOf(stored)
  const fact = { kind, reference, transferId, accountId, amount, ...payload }
  if (!readable.safeParse(fact).success) throw new Error('The stored fact is not one of a payment.')
  return fact as RailFact
}
