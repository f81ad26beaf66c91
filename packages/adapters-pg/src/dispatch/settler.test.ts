import type { Settlement } from '@outlay/core/adapter'
import { expect, it } from 'vitest'
import { storableJson } from '../database/statement.ts'
import { startSettler } from './settler.ts'

const settlement = (transferId: string) => ({ transferId, attempt: 1 }) as Settlement

/** A settler whose database refuses some outcomes, and fails so many times before it answers. */
function startOn({ refused, failures }: { readonly refused: readonly string[]; readonly failures: number }) {
  const written: string[] = []
  const errors: unknown[] = []
  const warnings: unknown[] = []
  let left = failures
  const settler = startSettler({
    attempts: {
      async settle(settlements: readonly Settlement[]) {
        if (left-- > 0) throw new Error('Connection terminated unexpectedly')
        const ids = settlements.map(({ transferId }) => transferId)
        storableJson(settlements)
        if (ids.some((id) => refused.includes(id))) {
          throw Object.assign(new Error('unsupported Unicode escape sequence'), { code: '22P05' })
        }
        written.push(...ids)
        return new Map(ids.map((id) => [`${id} 1`, 'settled' as const]))
      },
    },
    logger: {
      debug() {},
      info() {},
      warn: (about) => void warnings.push(about),
      error: (about) => void errors.push(about),
    },
    onSettled: () => undefined,
  })
  return { settler, written, errors, warnings }
}

const ids = Array.from({ length: 100 }, (_, index) => `transfer-${index}`)

it('gives up the outcomes that the database refuses, and writes all others', async () => {
  const refused = ['transfer-0', 'transfer-37', 'transfer-99']
  const { settler, written, errors, warnings } = startOn({ refused, failures: 0 })
  await Promise.all(ids.map((id) => settler.add(settlement(id))))
  await settler.stop()
  expect(written).toEqual(ids.filter((id) => !refused.includes(id)))
  expect(errors).toMatchObject(refused.map((transferId) => ({ transferId })))
  expect(warnings).toEqual([])
})

it('gives up an outcome that has no JSON text, and writes all others', async () => {
  const { settler, written, errors } = startOn({ refused: [], failures: 0 })
  const odd = { ...settlement('odd'), pollAfterMs: 5n } as unknown as Settlement
  await Promise.all([odd, ...ids.map(settlement)].map((one) => settler.add(one)))
  await settler.stop()
  expect(written).toEqual(ids)
  expect(errors).toMatchObject([{ transferId: 'odd', error: 'UnstorableError' }])
})

it('gives up nothing while the database is out of reach', async () => {
  const { settler, written, errors } = startOn({ refused: [], failures: 3 })
  await Promise.all(ids.map((id) => settler.add(settlement(id))))
  await settler.stop()
  expect(written).toEqual(ids)
  expect(errors).toEqual([])
})

it('keeps the outcomes of locked transfers, writes all others, and calls none of them too late', async () => {
  const locked = new Set(['transfer-1', 'transfer-2'])
  const written: string[] = []
  const warnings: unknown[] = []
  const settler = startSettler({
    attempts: {
      async settle(settlements: readonly Settlement[]) {
        // As Postgres does when another row than the transfer is locked.
        if (settlements.some(({ transferId }) => transferId === 'transfer-3') && locked.size > 0)
          throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
        const results = settlements.map(({ transferId }) => {
          if (!locked.has(transferId)) written.push(transferId)
          return [`${transferId} 1`, locked.has(transferId) ? 'locked' : 'settled'] as const
        })
        return new Map(results)
      },
    },
    logger: { debug() {}, info() {}, warn: (about) => void warnings.push(about), error() {} },
    onSettled: () => undefined,
  })
  const isLate = (id: string) => ['transfer-1', 'transfer-2', 'transfer-3'].includes(id)
  const all = ids.map((id) => ({ id, done: settler.add(settlement(id)) }))
  await Promise.all(all.filter(({ id }) => !isLate(id)).map(({ done }) => done))
  expect(written.filter(isLate)).toEqual([])
  expect(settler.locked()).toBe(3)
  locked.clear()
  await Promise.all(all.map(({ done }) => done))
  expect(settler.locked()).toBe(0)
  await settler.stop()
  expect([...written].sort()).toEqual([...ids].sort())
  expect(warnings).toEqual([])
})
