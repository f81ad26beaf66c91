import { describe, expect, it } from 'vitest'
import { createInFlight } from './in-flight.ts'

const never = () => new Promise<never>(() => undefined)

describe('keys in flight', () => {
  it('are waited for until their work has ended, well or not', async () => {
    const inFlight = createInFlight(1_000)
    expect(await inFlight.wait('a')).toBe(true)
    const work = Promise.withResolvers<number>()
    const tracked = inFlight.track('a', () => work.promise)
    const waiting = inFlight.wait('a')
    work.resolve(1)
    expect([await waiting, await tracked]).toEqual([true, 1])
    const failing = inFlight.track('a', () => Promise.reject(new Error('no')))
    expect(await inFlight.wait('a')).toBe(true)
    await expect(failing).rejects.toThrow('no')
  })

  it('are waited for up to the bound', async () => {
    const inFlight = createInFlight(10)
    void inFlight.track('a', never)
    expect([await inFlight.wait('a'), await inFlight.wait('b')]).toEqual([false, true])
  })

  it('are remembered, up to the 10,000 latest', async () => {
    const inFlight = createInFlight(10)
    expect(inFlight.wasTracked('0')).toBe(false)
    for (let n = 0; n < 10_000; n += 1) await inFlight.track(String(n), async () => n)
    expect(inFlight.wasTracked('0')).toBe(true)
    await inFlight.track('0', async () => 0)
    await inFlight.track('new', async () => 0)
    expect(['0', '1', '2', 'new'].map((key) => inFlight.wasTracked(key))).toEqual([true, false, true, true])
  })
})
