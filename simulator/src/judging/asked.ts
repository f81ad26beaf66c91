import type { EnqueueRequest } from '@outlay/core'
import type { Asked } from '@outlay/judge'

/** What a host writes into its own row about a payout, for the judge; its reference is the note of the transfer. */
export function askedOf(request: EnqueueRequest): Asked {
  const { amount, source, destination, note, notBefore, expiresAt } = request
  return {
    reference: note ?? '',
    amount,
    source: askedLegOf(source),
    destination: askedLegOf(destination),
    ...(notBefore === undefined ? {} : { notBefore: new Date(notBefore).toISOString() }),
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
  }
}

/** One end of a request, as a host writes it down. */
export function askedLegOf({
  valueType,
  transferType,
  ...leg
}: EnqueueRequest['source'] | EnqueueRequest['destination']) {
  const { addressId, address } = leg as {
    readonly addressId?: string
    readonly address?: { readonly address?: string; readonly accountNumber?: string }
  }
  const payee = address?.address ?? address?.accountNumber
  return {
    ...(addressId === undefined ? {} : { address: addressId }),
    ...(payee === undefined ? {} : { payee }),
    valueType,
    transferType,
  }
}
