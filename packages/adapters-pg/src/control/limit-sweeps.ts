import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'

const texts = {
  limits_pending: `select exists (select from {{schema}}.limit_refund r where r.due_at <= (select clock_timestamp())) as refunds,
      exists (select from {{schema}}.hold h where h.counter is not null) as held`,
  return_charges: 'select {{schema}}.return_charges($1) as count',
  release_fitting: 'select counter, scope, released from {{schema}}.release_fitting($1, $2, $3, $4)',
  prune_limits: 'select {{schema}}.prune_limits($1) as count',
} as const

/** Sums that one statement checks. */
const sumsAtOnce = 50

/** Most transfers that one statement releases: claims wait for what it counts them in. */
const releasedAtOnce = 50

/** Transfers that are given back, or forgotten, by one statement. */
const chargesAtOnce = 1_000

/** What workers do about limits on sums beside claims. */
export interface LimitSweepStore {
  /** Gives back what is counted of transfers that have ended without an effect, then releases what fits. Returns how many of both. */
  sweep(): Promise<{ readonly returned: number; readonly released: number }>
  /** Deletes what is counted of spans that are long over. True when there is more of it. */
  prune(): Promise<boolean>
}

/** Makes the store of those sweeps on a driver. */
export function createLimitSweepStore<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
): LimitSweepStore {
  const sql = statements(tokens, texts)
  const count = async (statement: (typeof sql)[keyof typeof sql]) =>
    readFirst(readCount, await driver.query(statement, [chargesAtOnce]))?.count ?? 0
  const release = async () => {
    let released = 0
    for (let at: readonly string[] = ['', '']; ; ) {
      const rows: readonly Row[] = await driver.query(sql.release_fitting, [...at, sumsAtOnce, releasedAtOnce])
      const sums = rows.map(readReleased)
      released += sums.reduce((sum, one) => sum + one.released, 0)
      const last = sums.at(-1)
      if (last === undefined) return released
      at = [last.counter, last.scope]
    }
  }
  return {
    async sweep() {
      const pending = readFirst(readPending, await driver.query(sql.limits_pending, []))
      // Neither waits for the other: a failure of the first is thrown behind both.
      const [returning] = await Promise.allSettled([pending?.refunds === true ? count(sql.return_charges) : 0])
      const released = pending?.held === true ? await release() : 0
      if (returning.status === 'rejected') throw returning.reason
      return { returned: returning.value, released }
    },
    prune: async () => (await count(sql.prune_limits)) === chargesAtOnce,
  }
}

const readPending = rowDecoder('limits', { refunds: Column.boolean, held: Column.boolean })
const readCount = rowDecoder('limits', { count: Column.integer })
const readReleased = rowDecoder('limits', { counter: Column.text, scope: Column.text, released: Column.integer })
