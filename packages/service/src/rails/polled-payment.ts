import { z } from 'zod'
import { foreignAmount, foreignReference, optional } from './foreign-value.ts'
import type { RailPayment } from './port.ts'

/** What decides about money. Failures and times are read by the engine, as those of every gateway. */
const readable = z.object({
  reference: foreignReference,
  state: z.enum(['expected', 'accepted', 'settled', 'rejected', 'returned', 'canceled']),
  amount: optional(foreignAmount),
})

/**
 * Reads a payment as a rail says it. What decides about money is read once.
 * @throws Error for one that the port does not describe: it says nothing, and the rail is asked again.
 */
export function readPolledPayment(said: RailPayment): RailPayment {
  const read = readable.safeParse(said)
  if (read.success) return { ...read.data, failure: said.failure, reachedAt: said.reachedAt ?? undefined }
  const fields = read.error.issues.map(({ path }) => path.join('.')).join(', ')
  throw new Error(`The rail's payment is not one that the port describes: ${fields}.`)
}
