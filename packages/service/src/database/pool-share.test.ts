import { recordingLogger } from '@outlay/testing'
import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { isShareRefusal, withinShare } from './pool-share.ts'

const poolOf = (max: number) => ({ pool: { options: { max } } as unknown as Pool })
const never = new Promise<never>(() => undefined)

describe('the share of a client in the pool', () => {
  it('leaves half of the connections to others, and goes on in order', async () => {
    const pool = poolOf(4)
    const began: string[] = []
    const ends: (() => void)[] = []
    const read = (clientId: string, name: string) =>
      withinShare(pool, clientId, { limitMs: 60_000 }, () => {
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
    const pool = poolOf(2)
    void withinShare(pool, 'a', { limitMs: 60_000 }, () => never)
    await expect(withinShare(pool, 'a', { limitMs: 1 }, () => never)).rejects.toMatchObject({
      code: 'service_unavailable',
      retryAfterMs: 1_000,
    })
    await expect(withinShare(pool, 'b', { limitMs: 1 }, () => Promise.reject(new Error('broken')))).rejects.toThrow(
      'broken',
    )
  })

  it('refuses at once what is more than may wait', async () => {
    const pool = poolOf(2)
    const reads = Array.from({ length: 5_002 }, () => withinShare(pool, 'a', { limitMs: 60_000 }, () => never))
    const first = Promise.race(reads.map((one, at) => one.catch(() => at)))
    expect(await first).toBe(5_001)
  })
  it('a read leaves the queue when nobody waits for it any more, and one that has begun does not', async () => {
    const pool = { ...poolOf(2), logger: recordingLogger() }
    const end = Promise.withResolvers<string>()
    const gone = new AbortController()
    const wait = { limitMs: 60_000, reader: gone }
    const begun = withinShare(pool, 'a', wait, () => end.promise)
    const left = withinShare(pool, 'a', wait, () => never)
    const refusal = left.catch((error: unknown) => error)
    gone.abort()
    expect(await refusal).toMatchObject({ code: 'aborted' })
    expect(isShareRefusal(await refusal)).toBe(true)
    await expect(withinShare(pool, 'a', wait, () => never)).rejects.toMatchObject({ code: 'aborted' })
    end.resolve('read')
    expect(await begun).toBe('read')
    expect(pool.logger.entries).toEqual([])
  })

  it('does no more at once for all clients than the pool has connections, and bounds what waits', async () => {
    const pool = poolOf(2)
    let begun = 0
    const clients = Array.from({ length: 20 }, (_, client) => `client ${client}`)
    const refused = new Map<string, number>()
    for (const client of clients) {
      for (let count = 0; count < 600; count += 1) {
        const work = () => {
          begun += 1
          return never
        }
        withinShare(pool, client, { limitMs: 60_000 }, work).catch(() =>
          refused.set(client, (refused.get(client) ?? 0) + 1),
        )
      }
    }
    await new Promise(setImmediate)
    expect(begun).toBe(2)
    // 10,000 wait, and each client has its part of them: 500.
    const counts = clients.map((client) => refused.get(client) ?? 0)
    expect(counts.reduce((sum, count) => sum + count)).toBe(12_000 - 2 - 10_000)
    expect(Math.max(...counts)).toBeLessThanOrEqual(101)
  })
})
