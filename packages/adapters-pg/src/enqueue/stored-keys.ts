import { Column, type NewTransfer, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { statements } from '../database/statement.ts'

const texts = {
  stored_positions: `select n.position::integer as position from unnest($1::text[], $2::text[]) with ordinality as n (account_id, key, position)
    where exists (select from {{schema}}.transfer t where t.account_id = n.account_id and t.idempotency_key = n.key)`,
} as const

/** Makes the question which keys are in use, on a driver: one statement for all of them. */
export function createStoredKeys<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return async (
    tx: Tx,
    transfers: readonly Pick<NewTransfer, 'accountId' | 'idempotencyKey'>[],
  ): Promise<readonly boolean[]> => {
    const values = [transfers.map(({ accountId }) => accountId), transfers.map(({ idempotencyKey }) => idempotencyKey)]
    const positions = (await driver.execute(tx, sql.stored_positions, values)).map((row) => readPosition(row).position)
    const stored = new Set(positions)
    return transfers.map((_, index) => stored.has(index + 1))
  }
}

const readPosition = rowDecoder('transfer', { position: Column.integer })
