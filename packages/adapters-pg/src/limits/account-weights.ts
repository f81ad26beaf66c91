import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { statements } from '../database/statement.ts'

/** The weights of accounts in the order of dispatch, as far as this process knows. */
export interface AccountWeights {
  /** 1 for an account without one. */
  of(accountId: string): number
  /** Records a weight that was just set, before the next read finds it. */
  note(accountId: string, weight: number): void
  /** Reads the weights again when they were read long ago. Returns at once: no transaction waits for it. */
  refresh(): void
}

/** How long weights count before they are read again, in milliseconds. */
const believedMs = 5_000

const texts = {
  account_weights: 'select f.account_id, f.weight from {{schema}}.account f where f.weight <> 1',
} as const

/** Makes the weights of one process, on a driver. */
export function createAccountWeights<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>): AccountWeights {
  const sql = statements(tokens, texts)
  let weights = new Map<string, number>()
  let readAtMs = Number.NEGATIVE_INFINITY
  const read = async () => {
    const rows = await driver.query(sql.account_weights, [])
    weights = new Map(rows.map(readWeight).map(({ accountId, weight }) => [accountId, weight]))
  }
  return {
    of: (accountId) => weights.get(accountId) ?? 1,
    note: (accountId, weight) => {
      weights.set(accountId, weight)
    },
    refresh() {
      if (performance.now() - readAtMs < believedMs) return
      readAtMs = performance.now()
      // Without them the order is the one before; the next read is due soon.
      read().catch(() => undefined)
    },
  }
}

const readWeight = rowDecoder('account', { accountId: Column.text, weight: Column.anyNumber })
