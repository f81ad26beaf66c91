import { Column, type NewTransfer, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'

const texts = {
  record_resubmission: 'select {{schema}}.record_resubmission($1, $2, $3, $4) as successor_id',
} as const

/** Makes the store of resubmissions on a driver. */
export function createResubmissionStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Gives a new transfer the place of an ended one; returns the id of the transfer that has it. */
    async recordResubmission(
      tx: Tx,
      endedId: string,
      { id, idempotencyKey, fingerprint }: Pick<NewTransfer, 'id' | 'idempotencyKey' | 'fingerprint'>,
    ): Promise<string | undefined> {
      const rows = await driver.execute(tx, sql.record_resubmission, [endedId, id, idempotencyKey, fingerprint])
      return readFirst(readSuccessor, rows)?.successorId
    },
  }
}

const readSuccessor = rowDecoder('resubmission', { successorId: Column.optional(Column.text) })
