import { expect, it } from 'vitest'
import { callWithin } from './time-limit.ts'

it('passes on the result and the error of a call', async () => {
  expect(await callWithin(1_000, async () => 1)).toBe(1)
  await expect(callWithin(1_000, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  const throwing = () => {
    throw new Error('at once')
  }
  await expect(callWithin(1_000, throwing)).rejects.toThrow('at once')
})

it('abandons a call that ignores its signal', async () => {
  let given: AbortSignal | undefined
  const call = callWithin(10, ({ signal }) => {
    given = signal
    return new Promise<never>(() => undefined)
  })
  await expect(call).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(given?.aborted).toBe(true)
})
