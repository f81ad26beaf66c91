import type { EngineOptions } from '@outlay/core'
import type { WorkHandlers } from '@outlay/core/adapter'
import { expect, it } from 'vitest'
import { crashPoints } from './crash-points.ts'

/** Returns the arguments it was called with. */
const echo = (...call: readonly unknown[]) => call

it('hands on everything that the engine and its backend say to each other', async () => {
  const enqueue = async (...call: readonly unknown[]) => call
  const work = (handlers: WorkHandlers<object>) => handlers
  const given = { backend: { enqueue, work } } as unknown as EngineOptions<object>
  const { backend } = crashPoints({}).engine(given)
  const ask = backend as unknown as { enqueue: typeof echo; work: (handlers: object, options: object) => object }
  const enqueued = [{}, [], 'trace', 'policies', { facts: 1 }]
  expect(await ask.enqueue(...enqueued)).toEqual(enqueued)
  const poll = async (...call: readonly unknown[]) => ({ observations: [], call })
  const handlers = ask.work({ submit: echo, poll, subscriptions: [] }, {}) as Record<'submit' | 'poll', typeof echo>
  const submitted = [{ id: 'claim' }, new AbortController().signal, () => true, () => undefined]
  expect(await handlers.submit(...submitted)).toEqual(submitted)
  const polled = ['acme', [{ id: 'transfer' }], new AbortController().signal]
  expect(await handlers.poll(...polled)).toMatchObject({ call: polled })
})
