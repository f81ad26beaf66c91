import type { TransferFailure } from '@outlay/core'
import { expect, it } from 'vitest'
import type { TransferRow } from './row.ts'
import { transferSchema } from './schema.ts'
import { transferView } from './view.ts'

const at = new Date('2026-11-18T15:00:00Z')
const row = {
  ...{ id: '01KA0000000000000000000000', status: 'failed', note: null, created_at: at, updated_at: at },
  ...{ amount_value: '12.30', amount_currency: 'USDC', wire_memo: null, wire_instructions: null, automation_id: null },
  ...{ source_value_type: 'USDC', source_transfer_type: 'base', source_address_id: '01KA0000000000000000000002' },
  ...{ source_financial_institution_id: null, source_transaction_id: null, source_payment_details: null },
  ...{ destination_value_type: 'USDC', destination_transfer_type: 'base', destination_transaction_id: null },
  ...{ destination_address_id: '01KA0000000000000000000003', destination_payment_details: null },
  ...{ quote: null, returns: null },
} as const
/** Each type once: another one does not compile. */
const types: Readonly<Record<TransferFailure['type'], string>> = {
  rejected: 'rejected',
  returned: 'returned',
  expired: 'expired',
  insufficient_balance: 'insufficient_balance',
  service_error: 'service_error',
  not_paid: 'unknown',
  unknown: 'unknown',
}

it.each(Object.entries(types))('a failure of the type %s is answered as %s', (type, answered) => {
  const failure = { type, code: type, detail: '', occurredAt: at.toISOString(), retriable: false } as TransferFailure
  const view = transferView({ ...row, failure } as unknown as TransferRow)
  expect(view.failure).toMatchObject({ type: answered, code: type })
  expect(transferSchema.safeParse(view)).toMatchObject({ success: true })
})
