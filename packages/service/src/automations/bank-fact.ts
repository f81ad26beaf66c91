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

/** Reads a deposit that a bank reports; `undefined` for one that the port does not describe. Never throws. */
export function readDepositFact(said: unknown): DepositFact | undefined {
  return parse(deposit, said)
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
