import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { withinShare } from './pool-share.ts'

const poolOf = (max: number) => ({ pool: { options: { max } } as unknown as Pool })
const never = new Promise<never>(() => undefined)

describe('the share of a client in the pool', () => {
  it('leaves half of the connections to others, and goes on in order', async () => {
    const pool = poolOf(4)
    const began: string[] = []
    const ends: (() => void)[] = []
    const read = (clientId: string, name: string) =>
      withinShare(pool, clientId, 60_000, () => {
        began.push(name)
        return new Promise<string>((resolve) => ends.push(() => resolve(name)))
      })
    const reads = ['a1', 'a2', 'a3', 'a4'].map((name) => read('a', name))
    const other = read('b', 'b1')
    await Promise.resolve()
    expect(began).toEqual(['a1', 'a2', 'b1'])
    ends[0]?.()
    expect(await reads[0]).toBe('a1')
    await new Promise(setImmediate)
    expect(began).toEqual(['a1', 'a2', 'b1', 'a3'])
    ends[2]?.()
    expect(await other).toBe('b1')
  })

  it('refuses a read that has waited for its limit, and passes on what fails', async () => {
    const pool = poolOf(1)
    void withinShare(pool, 'a', 60_000, () => never)
    await expect(withinShare(pool, 'a', 1, () => never)).rejects.toMatchObject({
      code: 'service_unavailable',
      retryAfterMs: 1_000,
    })
    await expect(withinShare(pool, 'b', 1, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  })

  it('refuses at once what is more than may wait', async () => {
    const pool = poolOf(2)
    const reads = Array.from({ length: 5_002 }, () => withinShare(pool, 'a', 60_000, () => never))
    const first = Promise.race(reads.map((one, at) => one.catch(() => at)))
    expect(await first).toBe(5_001)
  })
})
