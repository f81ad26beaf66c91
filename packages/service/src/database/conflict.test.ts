import { OutlayError } from '@outlay/core'
import { expect, it } from 'vitest'
import { afterConflicts, isConflict } from './conflict.ts'

const sqlError = (code: string) => Object.assign(new Error('deadlock detected'), { code })

it.each([
  ['40P01', 3, 3],
  ['40001', 9, 5],
  ['23505', 9, 1],
])('runs work again after %s, a bounded number of times', async (code, failures, runs) => {
  let count = 0
  const work = async () => {
    count += 1
    if (count < failures) throw sqlError(code)
    return 'done'
  }
  const result = await afterConflicts(work).catch((error: unknown) => error)
  expect(count).toBe(runs)
  expect(result).toEqual(failures === runs ? 'done' : sqlError(code))
})

it('takes an error of our own for no conflict, whatever its code', () => {
  expect(isConflict(new OutlayError('conflict', 'No.'))).toBe(false)
  expect(isConflict('40001')).toBe(false)
})
