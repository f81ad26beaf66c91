import type { Settlement } from '@outlay/core/adapter'
import { silentLogger } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
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

describe('an outcome that code of the host refuses', () => {
  const settle = (refused: Set<string>, code: string) => {
    const written: string[] = []
    const errors: unknown[] = []
    const settler = startSettler({
      attempts: {
        async settle(settlements: readonly Settlement[]) {
          const ids = settlements.map(({ transferId }) => transferId)
          if (ids.some((id) => refused.has(id))) throw Object.assign(new Error('not on Sundays'), { code })
          written.push(...ids)
          return new Map(ids.map((id) => [`${id} 1`, 'settled' as const]))
        },
      },
      logger: { ...silentLogger, error: (about) => void errors.push(about) },
      onSettled: () => undefined,
    })
    return { settler, written, errors }
  }

  // A raise without a state, one with a state of its own, a missing right, a function that is gone, a statement that takes too long.
  it.each(['P0001', 'SUN01', '42501', '42883', '57014'])('by %s waits alone, and is given up never', async (code) => {
    const refused = new Set(['transfer-37', 'transfer-60'])
    const { settler, written, errors } = settle(refused, code)
    const all = ids.map((id) => ({ id, done: settler.add(settlement(id)) }))
    await Promise.all(all.filter(({ id }) => !refused.has(id)).map(({ done }) => done))
    expect(settler.locked()).toBe(2)
    expect(errors).toContainEqual(expect.objectContaining({ transferId: 'transfer-37', code }))
    refused.clear()
    await Promise.all(all.map(({ done }) => done))
    await settler.stop()
    expect([...written].sort()).toEqual([...ids].sort())
  })

  it.each(['OUTRU', '08006', '40P01', '57P01', 'EPIPE', 'P2010'])('is not searched behind %s', async (code) => {
    const sizes: number[] = []
    let left = 2
    const settler = startSettler({
      attempts: {
        async settle(settlements: readonly Settlement[]) {
          sizes.push(settlements.length)
          if (left-- > 0) throw Object.assign(new Error('as planned'), { code })
          return new Map(settlements.map(({ transferId }) => [`${transferId} 1`, 'settled' as const]))
        },
      },
      logger: silentLogger,
      onSettled: () => undefined,
    })
    await Promise.all(ids.map((id) => settler.add(settlement(id))))
    await settler.stop()
    expect(sizes).toEqual([100, 100, 100])
  })
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
