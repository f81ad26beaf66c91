import { describe, expect, it } from 'vitest'
import { createFigures } from './figures.ts'

/** A clock, and reads of so many transfers that take half a second of it. */
function make(isMany: boolean) {
  const clock = { now: 0, reads: 0 }
  const figures = createFigures({
    reads: { inspection: {} as never, backlog: () => Promise.reject(new Error('not read here')) },
    isMany: async () => isMany,
    nowMs: () => clock.now,
  })
  const read = () =>
    figures('one', async () => {
      clock.reads += 1
      clock.now += 500
      return clock.reads
    })
  return { clock, read, figures }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

it('reads those of few transfers each time', async () => {
  const { read } = make(false)
  expect([await read(), await read(), await read()]).toEqual([1, 2, 3])
})

it('keeps one of many for a multiple of its time, and gives it once more while it reads the next', async () => {
  const { read, clock } = make(true)
  expect([await read(), await read()]).toEqual([1, 1])
  clock.now += 10_001
  expect([await read(), await settled(), await read()]).toEqual([1, undefined, 2])
  clock.now += 70_001
  expect(await read()).toBe(3)
})

it('lets all who ask at once share one read, and keeps no failure', async () => {
  const { figures } = make(true)
  let reads = 0
  const gate = Promise.withResolvers<never>()
  const ask = () =>
    figures('two', () => {
      reads += 1
      return gate.promise
    })
  const both = Promise.allSettled([ask(), ask()])
  gate.reject(new Error('no database'))
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(reads).toBe(1)
  await settled()
  expect(await figures('two', async () => 7)).toBe(7)
})

describe('one that takes long for the first time', () => {
  const wait = { code: 'service_unavailable', status: 503, retryAfterMs: 1_000 }

  it('is waited for while there are few', async () => {
    const { figures } = make(false)
    const gate = Promise.withResolvers<string>()
    const asked = figures('slow', () => gate.promise)
    setTimeout(() => gate.resolve('done'), 300)
    expect(await asked).toBe('done')
  })

  it('is asked for again while there are many, and read once', async () => {
    const { figures } = make(true)
    let reads = 0
    const gate = Promise.withResolvers<string>()
    const ask = () =>
      figures('slow', () => {
        reads += 1
        return gate.promise
      })
    await expect(ask()).rejects.toMatchObject(wait)
    await expect(ask()).rejects.toMatchObject(wait)
    gate.resolve('done')
    expect([await ask(), reads]).toEqual(['done', 1])
  })

  it('says that it failed to one who asks afterwards, and is then read anew', async () => {
    const { figures, clock } = make(true)
    const gate = Promise.withResolvers<string>()
    await expect(figures('slow', () => gate.promise)).rejects.toMatchObject(wait)
    gate.reject(new Error('no database'))
    await settled()
    await expect(figures('slow', async () => 'never read')).rejects.toThrow('no database')
    expect(await figures('slow', async () => 'read anew')).toBe('read anew')

    const other = Promise.withResolvers<string>()
    await expect(figures('other', () => other.promise)).rejects.toMatchObject(wait)
    other.reject(new Error('no database'))
    await settled()
    clock.now += 60_001
    expect(await figures('other', async () => 'read anew')).toBe('read anew')
  })
})

describe('those that no request waits for', () => {
  it('are two at most, whatever is asked: they have connections that payments need', async () => {
    const { figures } = make(true)
    const gates = new Map<string, PromiseWithResolvers<string>>()
    const ask = (name: string) =>
      figures(name, () => {
        const gate = Promise.withResolvers<string>()
        gates.set(name, gate)
        return gate.promise
      })
    const all = () => Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map(ask))
    const codes = (await all()).map((one) => one.status === 'rejected' && one.reason.code)
    expect(codes).toEqual(Array(5).fill('service_unavailable'))
    expect([...gates.keys()]).toEqual(['a', 'b'])
    gates.get('a')?.resolve('done')
    await settled()
    await all()
    expect([...gates.keys()]).toEqual(['a', 'b', 'c'])
    expect(await ask('a')).toBe('done')
  })

  it('leave the old ones shown while no place is free', async () => {
    const { figures, read, clock } = make(true)
    expect(await read()).toBe(1)
    clock.now += 10_001
    const never = () => new Promise<never>(() => undefined)
    await Promise.allSettled([figures('a', never), figures('b', never)])
    expect([await read(), await settled(), await read()]).toEqual([1, undefined, 1])
  })

  it('count few only while there are few: then all are read', async () => {
    const { figures } = make(false)
    const gate = Promise.withResolvers<string>()
    const asked = Promise.all(['a', 'b', 'c', 'd'].map((name) => figures(name, () => gate.promise)))
    gate.resolve('done')
    expect(await asked).toEqual(Array(4).fill('done'))
  })
})

it('reads a figure anew whose read threw at once', async () => {
  const { figures } = make(true)
  const thrown = figures('odd', () => {
    throw new Error('thrown at once')
  })
  await expect(thrown).rejects.toThrow('thrown at once')
  expect(await figures('odd', async () => 7)).toBe(7)
})
