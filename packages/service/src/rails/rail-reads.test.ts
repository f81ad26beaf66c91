import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createRailReads } from './rail-reads.ts'

const never = new AbortController().signal

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

it('a rail whose reads hang is read one at a time until it answers, and the others as before', async () => {
  const reads = createRailReads({ mostHanging: 3, slowAfterMs: 1_000 })
  const stop = new AbortController()
  const hang = (signal: AbortSignal) => reads.enter('wire', signal, () => new Promise<string>(() => undefined))
  for (let count = 0; count < 3; count += 1) void hang(stop.signal)
  await vi.advanceTimersByTimeAsync(999)
  expect(await reads.enter('wire', never, async () => 'through')).toBe('through')
  await vi.advanceTimersByTimeAsync(1)
  const read = vi.fn(async () => 'late')
  await expect(reads.enter('wire', never, read)).rejects.toThrow('The rail wire does not answer reads')
  expect(read).not.toHaveBeenCalled()
  expect(await reads.enter('base', never, async () => 'other')).toBe('other')
  // Those that hang are given up, and one finds out.
  stop.abort()
  const probe = Promise.withResolvers<string>()
  const first = reads.enter('wire', never, () => probe.promise)
  await expect(reads.enter('wire', never, read)).rejects.toThrow('does not answer')
  probe.resolve('answer')
  expect(await first).toBe('answer')
  expect(await Promise.all([reads.enter('wire', never, read), reads.enter('wire', never, read)])).toEqual([
    'late',
    'late',
  ])
})

it('a rail that refuses has answered', async () => {
  const reads = createRailReads({ mostHanging: 1, slowAfterMs: 1_000 })
  const hanging = Promise.withResolvers<string>()
  const first = reads.enter('wire', never, () => hanging.promise)
  first.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(1_000)
  hanging.reject(new Error('broken'))
  await expect(first).rejects.toThrow('broken')
  const both = [1, 2].map((one) => reads.enter('wire', never, async () => one))
  expect(await Promise.all(both)).toEqual([1, 2])
})
