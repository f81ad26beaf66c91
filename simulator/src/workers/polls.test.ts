import type { Gateway } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { expect, it } from 'vitest'
import { type Polls, watchPolls } from './polls.ts'

const signal = new AbortController().signal

/** A worker whose statements answer with what they are given. */
function work(polls: Polls) {
  const run = polls.statement((_statement, _values, answer) => answer())
  const gateway: Gateway = polls.gateway({
    ...memoryGateway(),
    get: async () => undefined,
    list: async () => ({ observations: [] }),
  })
  const query = (name: string, values: readonly unknown[], rows: readonly Readonly<Record<string, unknown>>[]) =>
    run({ name: `outlay_outlay_${name}`, text: '' }, values, async () => rows)
  return {
    lease: (accountId: string, ...ids: readonly string[]) =>
      query(
        'lease_due',
        [],
        ids.map((id) => ({ id, account_id: accountId, remote_id: `remote-${id}` })),
      ),
    read: (accountId: string, id: string, by = signal) => gateway.get(accountId, `remote-${id}`, { signal: by }),
    list: (accountId: string) => gateway.list?.(accountId, { limit: 1, signal }),
    defer: (...ids: readonly string[]) => query('reschedule', [ids], []),
    giveBack: (...ids: readonly string[]) => query('give_back', [ids], []),
  }
}

it('counts the polls of an account in a row that end without a read, whatever other accounts read', async () => {
  const polls = watchPolls()
  const worker = work(polls)
  for (const expected of [1, 2]) {
    await worker.lease('a', 'a1', 'a2')
    await worker.lease('b', 'b1')
    await worker.read('b', 'b1')
    await worker.defer('b1')
    await worker.defer('a1', 'a2')
    expect([polls.unread('a'), polls.unread('b')]).toEqual([expected, 0])
  }
  await worker.lease('a', 'a1', 'a2')
  await worker.read('a', 'a2')
  await worker.defer('a1', 'a2')
  expect(polls.unread('a')).toBe(0)
})

it('takes a page of the list for a read of each transfer', async () => {
  const read: string[] = []
  const polls = watchPolls((what) => read.push(what))
  const worker = work(polls)
  await worker.lease('a', 'a1')
  await worker.list('a')
  await worker.defer('a1')
  expect([polls.unread('a'), read]).toEqual([0, ['a']])
})

it('takes no read for one of a later poll, nor one that was abandoned before it left', async () => {
  const read: string[] = []
  const polls = watchPolls((what) => read.push(what))
  const worker = work(polls)
  await worker.lease('a', 'a1')
  await worker.read('a', 'a1', AbortSignal.abort())
  await worker.defer('a1')
  await worker.read('a', 'a1')
  await worker.lease('a', 'a1')
  await worker.defer('a1')
  expect([polls.unread('a'), read]).toEqual([2, ['remote-a1']])
  polls.forget('a')
  expect(polls.unread('a')).toBe(0)
})

it('does not count what was given back, nor what it has not leased', async () => {
  const polls = watchPolls()
  const worker = work(polls)
  await worker.lease('a', 'a1')
  await worker.giveBack('a1')
  await worker.defer('a2')
  expect(polls.unread('a')).toBe(0)
})
