import { Column, type Effect, type FailoverEnd, type NewTransfer, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'

const texts = {
  record_resubmission: 'select successor_id, effect from {{schema}}.record_resubmission($1, $2, $3, $4)',
  forget_resubmission: 'delete from {{schema}}.resubmission where transfer_id = $1 and successor_id = $2',
  end_failover: 'select {{schema}}.end_failover($1, $2) as ended',
} as const

/** Makes the store of resubmissions on a driver. */
export function createResubmissionStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Gives a new transfer the place of an ended one; returns the id of the transfer that has it, and the effect of the ended one. */
    async recordResubmission(
      tx: Tx,
      endedId: string,
      { id, idempotencyKey, fingerprint }: Pick<NewTransfer, 'id' | 'idempotencyKey' | 'fingerprint'>,
    ): Promise<{ readonly successorId?: string | undefined; readonly effect: Effect }> {
      const rows = await driver.execute(tx, sql.record_resubmission, [endedId, id, idempotencyKey, fingerprint])
      return readFirst(readSuccessor, rows) ?? { effect: 'unknown' }
    },
    async forgetResubmission(tx: Tx, endedId: string, successorId: string): Promise<void> {
      await driver.execute(tx, sql.forget_resubmission, [endedId, successorId])
    },
    async endFailover(tx: Tx, transferId: string, reason: FailoverEnd | null): Promise<void> {
      await driver.execute(tx, sql.end_failover, [transferId, reason])
    },
  }
}

const readSuccessor = rowDecoder('resubmission', {
  successorId: Column.optional(Column.text),
  effect: Column.word<Effect>(),
})
