import type { StoredTransfer } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import { foreignText, redact } from '../redaction.ts'

const nullableText = z.string().nullable()

/** An amount: a decimal string and its currency. */
const amountSchema = component(
  'Amount',
  z.object({ value: z.string().meta({ description: 'Decimal string.' }), currency: z.string() }),
)

/** Pairs that the host noted. */
export const metadataSchema = z.record(z.string(), z.string())

const legSchema = z.object({ addressId: nullableText, valueType: z.string(), transferType: z.string() })

/** A transfer without what is secret: of a counterparty that was given in full only what distinguishes it from others. */
export const transferSchema = component(
  'Transfer',
  z.object({
    id: z.string(),
    accountId: z.string(),
    gateway: z.string(),
    idempotencyKey: z.string(),
    stage: z.string().meta({ description: 'Where it stands in the engine.' }),
    status: z.string().meta({ description: 'What the service says about the money.' }),
    reason: nullableText,
    amount: amountSchema,
    paidAmount: amountSchema.nullable().meta({ description: 'What was paid, where that is another amount.' }),
    source: legSchema,
    destination: z.object({
      ...legSchema.shape,
      counterparty: z.object({ kind: z.string(), name: z.string(), lastFour: z.string() }).nullable(),
    }),
    note: foreignText.nullable(),
    failure: z
      .object({
        type: z.string(),
        code: z.string(),
        detail: foreignText,
        occurredAt: z.string(),
        retriable: z.boolean(),
      })
      .nullable(),
    remoteId: nullableText.meta({ description: 'Its id at the service.' }),
    attempts: z.int(),
    metadata: metadataSchema.nullable(),
    batchId: nullableText,
    notBefore: nullableText,
    expiresAt: nullableText,
    resubmissionOf: nullableText,
    resubmittedAs: nullableText,
    createdAt: z.string(),
    updatedAt: z.string(),
  }),
)

/** Metadata with the values hidden that may be an account number or a secret, unless their names are shown. */
export const viewMetadata = (
  metadata: Readonly<Record<string, string>> | null | undefined,
  shown: ReadonlySet<string>,
): z.output<typeof metadataSchema> | null =>
  metadata === null || metadata === undefined
    ? null
    : Object.fromEntries(
        Object.entries(metadata).map(([name, value]) => [name, shown.has(name) ? value : redact(value)]),
      )

/** What is shown of a stored transfer. */
export function viewTransfer(transfer: StoredTransfer, shown: ReadonlySet<string>): z.output<typeof transferSchema> {
  const { request, failure, metadata, attempt, batchId, resubmissionOf, resubmittedAs, paidAmount, ...others } =
    transfer
  const { source, destination, amount, note } = request
  const { address } = destination
  return transferSchema.parse({
    ...others,
    amount,
    paidAmount: paidAmount ?? null,
    source: { ...source, addressId: source.addressId ?? null },
    destination: { ...destination, addressId: destination.addressId ?? null, counterparty: address ?? null },
    note: note ?? null,
    failure,
    attempts: attempt,
    metadata: viewMetadata(metadata, shown),
    batchId: batchId ?? null,
    resubmissionOf: resubmissionOf ?? null,
    resubmittedAs: resubmittedAs ?? null,
  })
}
