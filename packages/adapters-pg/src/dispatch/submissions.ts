import { type Claim, Column, rowDecoder, type UnknownLimit } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'

const texts = {
  record_client: 'select {{schema}}.record_client($1, $2, $3) as recorded',
  block_unknown: 'select * from {{schema}}.block_unknown_by_gateway($1, $2, $3, $4, $5)',
} as const

/** Keys that are known for longer are known for ever, in milliseconds: the database has no such times. */
const endlessMs = 1e12

/** The store of how transfers are sent: as which client, and until when. */
export type SubmissionStore = ReturnType<typeof createSubmissionStore>

/** Makes the store of submissions on a driver. */
export function createSubmissionStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Records the client that a claimed transfer is about to be sent as; false when it may not be sent as that client. */
    async recordClient(
      { transferId, attempt }: Pick<Claim, 'transferId' | 'attempt'>,
      client: string,
    ): Promise<boolean> {
      const rows = await driver.query(sql.record_client, [transferId, attempt, client])
      return readFirst(readRecorded, rows)?.recorded === true
    },
    /**
     * Blocks waiting transfers whose outcome is unknown for longer than the limits of their gateways, or than a day for other gateways, among
     * the next `limit` behind an id. `last` is the last one that was read; null when none is left.
     */
    async blockUnknown(after: string, limit: number, limits: readonly UnknownLimit[]) {
      const [gateways, olderThan, lastSends] = [
        limits.map(({ gateway }) => gateway),
        limits.map(({ limitMs }) => Math.round(limitMs)),
        limits.map(({ lastSendMs }) => (lastSendMs < endlessMs ? Math.round(lastSendMs) : null)),
      ]
      const [row = {}] = await driver.query(sql.block_unknown, [after, limit, gateways, olderThan, lastSends])
      return readBlocked(row)
    },
  }
}

const readRecorded = rowDecoder('client', { recorded: Column.or(Column.boolean, false) })

const readBlocked = rowDecoder('unknown outcome', {
  blocked: Column.or(Column.integer, 0),
  last: Column.from('last_id', Column.or(Column.text, null)),
})
