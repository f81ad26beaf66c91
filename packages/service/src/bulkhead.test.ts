import { expect, it } from 'vitest'
import { bulkheadOf, createBulkhead } from './bulkhead.ts'

const limits = { mostCalls: 2, mostWaiting: 2 }
const gate = () => Promise.withResolvers<string>()
const signal = new AbortController().signal

it('lets a limited number through, the others wait in order, and further ones are refused', async () => {
  const bulkhead = createBulkhead(limits)
  const gates = [gate(), gate(), gate(), gate()]
  const begun: number[] = []
  const enter = (at: number) =>
    bulkhead.enter('wire', signal, () => {
      begun.push(at)
      return gates[at]?.promise ?? Promise.resolve('')
    })
  const calls = [0, 1, 2, 3].map(enter)
  await expect(enter(4)).rejects.toThrow('wire')
  expect(begun).toEqual([0, 1])
  gates[1]?.resolve('one')
  expect(await calls[1]).toBe('one')
  expect(begun).toEqual([0, 1, 2])
  gates[0]?.reject(new Error('no'))
  await expect(calls[0]).rejects.toThrow('no')
  expect(begun).toEqual([0, 1, 2, 3])
  gates[2]?.resolve('two')
  gates[3]?.resolve('three')
  expect(await Promise.all(calls.slice(2))).toEqual(['two', 'three'])
})

it('another rail has places of its own', async () => {
  const bulkhead = createBulkhead(limits)
  const hanging = gate()
  const hung = Array.from({ length: 4 }, () => bulkhead.enter('wire', signal, () => hanging.promise))
  expect(await bulkhead.enter('ach_debit', signal, async () => 'through')).toBe('through')
  hanging.resolve('')
  await Promise.all(hung)
})

it('a call whose time is over leaves its place, waiting or not', async () => {
  const bulkhead = createBulkhead(limits)
  const late = new AbortController()
  const hung = Array.from({ length: 4 }, () => bulkhead.enter('wire', late.signal, () => gate().promise))
  const ends = Promise.allSettled(hung)
  late.abort(new Error('late'))
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected'])
  expect(await bulkhead.enter('wire', signal, async () => 'free')).toBe('free')
})

it('a party that waits for everything leaves half of the places of a port to the others', async () => {
  const port = {}
  const hanging = gate()
  const calls = { busy: 0, other: 0 }
  const enter = (party: 'busy' | 'other', rail = 'wire') =>
    bulkheadOf(port).enter({ rail, party }, signal, () => {
      calls[party] += 1
      return hanging.promise
    })
  const busy = Array.from({ length: 80 }, () => enter('busy'))
  await expect(enter('busy')).rejects.toThrow('wire of busy')
  const other = Array.from({ length: 17 }, () => enter('other'))
  expect(calls).toEqual({ busy: 16, other: 16 })
  const elsewhere = enter('busy', 'ach_debit')
  expect(calls.busy).toBe(17)
  hanging.resolve('through')
  expect(new Set(await Promise.all([...busy, ...other, elsewhere]))).toEqual(new Set(['through']))
})
