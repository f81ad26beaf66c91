import { randomUUID } from 'node:crypto'
import { type EnqueuedTransfer, OutlayError } from '@outlay/core'
import { Column, type NewTransfer, rowDecoder } from '@outlay/core/adapter'
import { refusedBatch } from '../batches/batches.ts'
import type { Driver } from '../database/driver.ts'
import { mayWrite } from '../database/enqueue-mark.ts'
import { type Statement, statements } from '../database/statement.ts'
import { maxIssues } from './enqueue-repeats.ts'
import { alone } from './running-enqueues.ts'

const texts = {
  // Before the savepoint, so that nobody writes between them, and so that its end leaves the mark.
  mark: `select set_config('outlay.enqueueing', $1::text, true) as mark where ${mayWrite("''")}`,
  unmark: `select set_config('outlay.enqueueing', '', true) as mark`,
  begin: 'savepoint outlay_enqueue',
  undo: 'rollback to savepoint outlay_enqueue',
  end: 'release savepoint outlay_enqueue',
  other_requests: `select n.position::integer as position
    from unnest($1::text[], $2::text[], $3::text[]) with ordinality as n (account_id, key, fingerprint, position)
    join {{schema}}.transfer t on t.account_id = n.account_id and t.idempotency_key = n.key
    where t.fingerprint <> n.fingerprint`,
  refused_batches: `select r.stored_position as position, r.refusal from {{schema}}.refused_batches($1::text[], $2::text[], $3::text[]) r`,
  stored_ids: `select n.position::integer as position from unnest($1::text[], $2::text[], $3::text[]) with ordinality as n (account_id, key, id, position)
    join {{schema}}.transfer t on t.id = n.id
    where not exists (select 1 from {{schema}}.transfer k where k.account_id = n.account_id and k.idempotency_key = n.key)`,
} as const

/** Most transfers in one statement: its arrays are what memory has to hold beside the transfers themselves. */
export const chunkSize = 2_000

/** What was written; `stale` where the policies are others, `alone` where another enqueue has a savepoint, `undefined` where one has the key or the id of another request, and nothing was. */
type Written = readonly EnqueuedTransfer[] | 'stale' | typeof alone | undefined

/** Prepares the transfers at these positions, under the mark of their enqueue, and returns what sends them. */
type PrepareChunk = (positions: readonly number[], mark: string) => () => Promise<Written>

/** Writes more than one statement should hold, and reports what is wrong with it. */
interface EnqueueChunks<Tx> {
  /** Writes all of them or none, and leaves the host's transaction usable. Results are in the order given. */
  write(tx: Tx, transfers: readonly NewTransfer[], prepare: PrepareChunk): Promise<Written>
  /** The refusal of transfers whose key or id another request has, after none of them was written. */
  explain(tx: Tx, transfers: readonly NewTransfer[]): Promise<OutlayError>
}

/** Makes the writing in chunks on a driver. */
export function createEnqueueChunks<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
): EnqueueChunks<Tx> {
  const sql = statements(tokens, texts)
  return {
    explain: (tx, transfers) => explainRefusal(driver, sql, tx, transfers),
    async write(tx, transfers, prepare) {
      // One order for every batch, so that two of them cannot wait for each other.
      const order = transfers
        .map((_, position) => position)
        .sort((a, b) => compareKeys(transfers[a], transfers[b]) || a - b)
      const written = new Array<EnqueuedTransfer>(transfers.length)
      const mark = randomUUID()
      if ((await driver.execute(tx, sql.mark, [mark])).length === 0) return alone
      await driver.execute(tx, sql.begin, [])
      const chunkFrom = (from: number) => {
        const positions = order.slice(from, from + chunkSize)
        return { positions, send: prepare(positions, mark) }
      }
      const end = async () => {
        await driver.execute(tx, sql.end, [])
        await driver.execute(tx, sql.unmark, [])
      }
      const undo = async () => {
        await driver.execute(tx, sql.undo, [])
        await end()
      }
      let next = chunkFrom(0)
      for (let from = 0; from < order.length; from += chunkSize) {
        const { positions, send } = next
        const sent = send()
        // Prepares the next chunk while Postgres writes this one.
        if (from + chunkSize < order.length) next = chunkFrom(from + chunkSize)
        const chunk = await sent.catch(async (error: unknown) => {
          // The host may go on after a refusal, such as that of another node; a lost connection has nothing to undo.
          await undo().catch(() => undefined)
          throw error
        })
        // The host has rolled back to a savepoint of its own since, and so has ended this one.
        if (chunk === alone) return chunk
        if (chunk === undefined || chunk === 'stale') {
          await undo()
          return chunk
        }
        for (const [index, position] of positions.entries()) written[position] = chunk[index] as EnqueuedTransfer
      }
      await end()
      return written
    },
  }
}

function compareKeys(a: NewTransfer | undefined, b: NewTransfer | undefined): number {
  if (a === undefined || b === undefined) return 0
  if (a.accountId !== b.accountId) return a.accountId < b.accountId ? -1 : 1
  if (a.idempotencyKey === b.idempotencyKey) return 0
  return a.idempotencyKey < b.idempotencyKey ? -1 : 1
}

async function explainRefusal<Tx>(
  driver: Driver<Tx>,
  sql: { readonly [K in keyof typeof texts]: Statement },
  tx: Tx,
  transfers: readonly NewTransfer[],
): Promise<OutlayError> {
  const keys = new Set<number>()
  const ids = new Set<number>()
  const batches = new Map<number, string>()
  for (let from = 0; from < transfers.length; from += chunkSize) {
    const chunk = transfers.slice(from, from + chunkSize)
    const columns = [chunk.map((one) => one.accountId), chunk.map((one) => one.idempotencyKey)]
    const fingerprints = chunk.map((one) => one.fingerprint)
    const others = await driver.execute(tx, sql.other_requests, [...columns, fingerprints])
    const stored = await driver.execute(tx, sql.stored_ids, [...columns, chunk.map((one) => one.id)])
    if (chunk.some(({ batchId }) => batchId !== undefined)) {
      const refused = await driver.execute(tx, sql.refused_batches, [
        ...columns,
        chunk.map(({ batchId }) => batchId ?? ''),
      ])
      for (const one of refused.map(readRefused)) batches.set(from + one.position - 1, one.refusal)
    }
    for (const row of others) keys.add(from + readPosition(row).position - 1)
    for (const row of stored) ids.add(from + readPosition(row).position - 1)
  }
  const issues = transfers.flatMap((transfer, position) => [
    ...(keys.has(position) ? [keyIssue(position)] : []),
    ...(ids.has(position) ? [idIssue(position, transfer.id)] : []),
    ...[batches.get(position)].flatMap((one) =>
      one === undefined ? [] : [refusedBatch(one, transfer.batchId, `${position}.`)],
    ),
  ])
  const [first, ...rest] = issues.slice(0, maxIssues)
  if (first !== undefined) return OutlayError.fromIssues([first, ...rest])
  // The conflicting rows are gone again.
  return new OutlayError(
    'conflict',
    'Another transaction had one of these keys or ids a moment ago; enqueue them again.',
  )
}

const keyIssue = (position: number) => ({
  field: `${position}.idempotencyKey`,
  code: 'idempotency_key_mismatch' as const,
  message: 'The account has a transfer with this key and another request; use a new key for a new request.',
})

const idIssue = (position: number, id: string) => ({
  field: `${position}.id`,
  code: 'conflict' as const,
  message: `Another transfer has the id ${id}; leave the id out or generate a new one.`,
})

const readRefused = rowDecoder('transfer', { position: Column.integer, refusal: Column.text })
const readPosition = rowDecoder('transfer', { position: Column.integer })
