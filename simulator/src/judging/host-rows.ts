import type { Asked, HostLine } from '@outlay/judge'
import type { Pool } from 'pg'
import type { Query, Row } from '../recording/index.ts'

/** Asks a pool. */
export const queryOf =
  (pool: Pick<Pool, 'query'>): Query =>
  async (text, values = []) =>
    (await pool.query(text, [...values])).rows

/** Tables of a host that say what it wanted and what it was notified of. */
export const hostTables = ['payout', 'effect'] as const

/** A row of the host's own as a line of its history; nothing for a row that is about something else. */
export function lineOf({ table, at, columns }: Row): HostLine | undefined {
  const text = (name: string) => columns[name] ?? ''
  if (table === 'effect') {
    return {
      kind: 'notice',
      at,
      subscription: text('subscription'),
      event: text('event_id'),
      type: text('type'),
      intent: text('transfer_id'),
      sequence: Number(text('sequence')),
      status: text('status'),
      retriable: text('retriable') === 't',
      remote: columns['remote_id'] ?? null,
    }
  }
  if (table !== 'payout' || text('asked') === '') return undefined
  const asked = JSON.parse(text('asked')) as Asked
  return { kind: 'intent', at, id: text('transfer_id'), account: text('account_id'), ...asked }
}
