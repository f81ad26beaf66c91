import { describe, expect, it } from 'vitest'
import { returnsAt, settlesAt } from './timing.ts'

const at = (text: string): Date => new Date(text)

describe('settlesAt', () => {
  it.each([
    ['a wire takes two hours', 'wire', '2026-11-18T15:00:00Z', '2026-11-18T17:00:00.000Z'],
    ['an RTP payment takes a minute', 'rtp', '2026-11-18T15:00:00Z', '2026-11-18T15:01:00.000Z'],
    ['Base takes ten seconds', 'base', '2026-11-18T15:00:00Z', '2026-11-18T15:00:10.000Z'],
    ['Ethereum takes three minutes', 'ethereum', '2026-11-18T15:00:00Z', '2026-11-18T15:03:00.000Z'],
    ['an ACH credit takes two banking days', 'ach_credit', '2026-11-18T15:00:00Z', '2026-11-20T13:30:00.000Z'],
    ['an ACH debit takes three', 'ach_debit', '2026-11-18T15:00:00Z', '2026-11-23T13:30:00.000Z'],
    ['Thanksgiving and the weekend do not count', 'ach_credit', '2026-11-25T15:00:00Z', '2026-11-30T13:30:00.000Z'],
    ['an ACH file that misses the day goes the next', 'ach_credit', '2026-11-18T22:30:00Z', '2026-11-23T13:30:00.000Z'],
    ['a Saturday counts as the Monday', 'ach_credit', '2026-11-21T15:00:00Z', '2026-11-25T13:30:00.000Z'],
    ['same-day, first window', 'same_day_ach_credit', '2026-11-18T15:30:00Z', '2026-11-18T18:00:00.000Z'],
    ['same-day, second window', 'same_day_ach_credit', '2026-11-18T15:31:00Z', '2026-11-18T22:00:00.000Z'],
    ['same-day, third window', 'same_day_ach_credit', '2026-11-18T21:45:00Z', '2026-11-18T23:00:00.000Z'],
    ['same-day after the last window', 'same_day_ach_credit', '2026-11-20T21:46:00Z', '2026-11-23T18:00:00.000Z'],
  ])('%s', (_name, transferType, from, expected) => {
    expect(settlesAt(transferType, at(from)).toISOString()).toBe(expected)
  })
})

it('an ACH entry is returned within two banking days', () => {
  expect(returnsAt(at('2026-11-18T15:00:00Z')).toISOString()).toBe('2026-11-20T13:30:00.000Z')
})
