import { describe, expect, it } from 'vitest'
import { createInFlight } from './in-flight.ts'

const never = () => new Promise<never>(() => undefined)

describe('keys in flight', () => {
  it('are free until there is work under them, and ended when it has ended well', async () => {
    const inFlight = createInFlight(1_000)
    expect(await inFlight.wait('a')).toBe('free')
    expect(await inFlight.track('a', async () => 1)).toBe(1)
    expect([await inFlight.wait('a'), await inFlight.wait('b')]).toEqual(['ended', 'free'])
  })

  it('are free again when the work fails', async () => {
    const inFlight = createInFlight(1_000)
    await expect(inFlight.track('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await inFlight.wait('a')).toBe('free')
  })

  it('are waited for up to the bound', async () => {
    const inFlight = createInFlight(10)
    void inFlight.track('a', never)
    expect(await inFlight.wait('a')).toBe('timeout')
  })

  it('are forgotten after ten thousand others', async () => {
    const inFlight = createInFlight(1_000)
    for (let key = 0; key <= 10_000; key += 1) await inFlight.track(String(key), async () => undefined)
    expect([await inFlight.wait('0'), await inFlight.wait('1')]).toEqual(['free', 'ended'])
  })
})
