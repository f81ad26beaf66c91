import { Amount, type Catalog } from '@outlay/core'
import { z } from 'zod'
import { foreignAmount, foreignDetails, foreignId, foreignText } from '../rails/foreign-value.ts'
import type { DepositFact, VirtualAccountFact } from '../rails/port.ts'

const deposit = z.object({
  reference: foreignId,
  transferType: z.enum(['wire', 'ach_credit']),
  routingNumber: foreignId,
  accountNumber: foreignId,
  amount: foreignAmount,
  details: foreignDetails.catch({}),
})

const opened = z.object({
  automationId: foreignId,
  instructions: z.object({
    bankName: foreignText,
    bankAddress: foreignText,
    accountNumber: foreignId,
    routingNumber: foreignId,
    memo: foreignText.nullish().transform((memo) => memo ?? null),
  }),
})

/**
 * Reads a deposit that a bank reports; `undefined` for one that the port does not describe, such as one of nothing, or of less than the
 * smallest unit. Never throws.
 */
export function readDepositFact(said: unknown, catalog: Catalog): DepositFact | undefined {
  const fact = parse(deposit, said)
  const amount = fact && inUnits(fact.amount, catalog)
  return amount && { ...fact, amount }
}

/** The same amount with no more digits than its currency has. In a currency that the catalog does not have it is no amount. */
function inUnits({ value, currency: given }: Amount, catalog: Catalog): Amount | undefined {
  const type = catalog.valueType(given)
  if (type === undefined) return undefined
  const { name: currency, scale } = type
  const [whole, digits = ''] = value.split('.')
  if (/[1-9]/.test(digits.slice(scale)) || !Amount.isPositive({ value, currency })) return undefined
  const kept = digits.slice(0, scale)
  return { value: kept === '' ? `${whole}` : `${whole}.${kept}`, currency }
}

/** Reads that a bank has opened an account; `undefined` as above. */
export function readOpenedFact(said: unknown): VirtualAccountFact | undefined {
  return parse(opened, said)
}

/** A getter may throw. */
function parse<T>(schema: z.ZodType<T>, said: unknown): T | undefined {
  try {
    const read = schema.safeParse(said)
    return read.success ? read.data : undefined
  } catch {
    return undefined
  }
}
