import { describe, expect, it } from 'vitest'
import { addBankingDays, federalHolidays, fromEastern, isBankingDay, toEastern } from './banking-day.ts'

describe('federalHolidays', () => {
  it('knows the eleven holidays of 2026', () => {
    expect([...federalHolidays(2026)].sort()).toEqual([
      '2026-01-01',
      '2026-01-19',
      '2026-02-16',
      '2026-05-25',
      '2026-06-19',
      '2026-07-04',
      '2026-09-07',
      '2026-10-12',
      '2026-11-11',
      '2026-11-26',
      '2026-12-25',
    ])
  })

  it('moves a holiday on a Sunday to the Monday, and leaves the Friday before a Saturday open', () => {
    expect(isBankingDay('2027-07-05')).toBe(false)
    expect(isBankingDay('2026-07-03')).toBe(true)
  })
})

describe('addBankingDays', () => {
  it.each([
    ['2026-11-25', 1, '2026-11-27'],
    ['2026-11-27', 1, '2026-11-30'],
    ['2026-11-28', 0, '2026-11-30'],
    ['2026-12-31', 2, '2027-01-05'],
  ])('%s plus %i is %s', (from, count, expected) => {
    expect(addBankingDays(from, count)).toBe(expected)
  })
})

describe('Eastern time', () => {
  it.each([
    ['2026-01-15', '2026-01-15T13:30:00.000Z'],
    ['2026-07-15', '2026-07-15T12:30:00.000Z'],
    ['2026-03-09', '2026-03-09T12:30:00.000Z'],
    ['2026-11-02', '2026-11-02T13:30:00.000Z'],
  ])('half past eight on %s is %s', (date, expected) => {
    expect(fromEastern(date, 510).toISOString()).toBe(expected)
    expect(toEastern(new Date(expected))).toEqual({ date, minute: 510 })
  })
})
