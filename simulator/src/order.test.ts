import { expect, it } from 'vitest'
import { createOrder, type Happening } from './order.ts'

const labels = (happened: readonly Happening[]) => happened.map(({ actor, what, phase }) => `${actor} ${what} ${phase}`)

it('lets everything happen in the order that was recorded, whoever comes first', async () => {
  const first = createOrder()
  await first.pass('a', 'settle', [1], async () => 'one')
  await first.pass('b', 'settle', [1], async () => 'two')
  const again = createOrder(first.happened)
  const done: string[] = []
  await Promise.all([
    again.pass('b', 'settle', [1], async () => done.push('b')),
    again.pass('a', 'settle', [1], async () => done.push('a')),
  ])
  expect(done).toEqual(['a', 'b'])
  expect(labels(again.happened)).toEqual(labels(first.happened))
  expect(again.enforced).toEqual({ kept: 4, missed: 0 })
})

it('does not count a poll that finds nothing, and lets it come again', async () => {
  const first = createOrder()
  const poll = (order: typeof first, found: number[]) =>
    order.pass(
      'a',
      'fetch',
      null,
      async () => found,
      (rows) => rows,
    )
  await poll(first, [])
  await poll(first, [7])
  await first.pass('plan', 'step', [], async () => undefined)
  expect(labels(first.happened)).toEqual(['a fetch begin', 'a fetch end', 'plan step begin', 'plan step end'])
  const again = createOrder(first.happened)
  const step = again.pass('plan', 'step', [], async () => undefined)
  for (const found of [[], [], [7]]) await poll(again, found)
  await step
  expect(labels(again.happened)).toEqual(labels(first.happened))
  expect(again.enforced.missed).toBe(0)
})

it('passes over what does not come about, and says so', async () => {
  const first = createOrder()
  await first.pass('a', 'settle', [1], async () => undefined)
  await first.pass('b', 'settle', [2], async () => undefined)
  const again = createOrder(first.happened)
  expect(await again.pass('b', 'settle', [2], async () => 'went on')).toBe('went on')
  expect(again.enforced).toEqual({ kept: 2, missed: 2 })
})
