import { expect, it } from 'vitest'
import { momentOf, parseMoment } from './moment.ts'

it('a moment of a host is a Date, or a date and a time with its offset', () => {
  const right = {
    '2026-01-05T08:00:00Z': '2026-01-05T08:00:00.000Z',
    '2026-01-05T08:00Z': '2026-01-05T08:00:00.000Z',
    '2026-01-05T08:00:00.123456+02:00': '2026-01-05T06:00:00.123Z',
    '2024-02-29T00:00:00Z': '2024-02-29T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z': '9999-12-31T23:59:59.999Z',
    '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
  }
  for (const [text, moment] of Object.entries(right)) expect(parseMoment(text)).toBe(moment)
  expect(parseMoment(new Date(0))).toBe('1970-01-01T00:00:00.000Z')
})

it('nothing else is a moment, even if a lenient parser reads it', () => {
  const texts = ['', '1', '2026', '2026-01-05', '2026-01-05T08:00:00', '2026-02-29T00:00:00Z', '2026-13-01T00:00:00Z']
  const late = [
    '+010000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-01:00',
    '0000-06-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
  ]
  const odd = [
    5,
    null,
    {},
    new Date(Number.NaN),
    new Date(8.64e15),
    new Date(-8.64e15),
    'Mon, 05 Jan 2026 08:00:00 GMT',
  ]
  for (const value of [...texts, ...late, ...odd]) expect(parseMoment(value), String(value)).toBeNull()
})

it('a moment of a service is read leniently, within the years that are stored', () => {
  expect(momentOf('2026-01-05')).toBe('2026-01-05T00:00:00.000Z')
  for (const text of ['+012026-01-01T00:00:00Z', '0000-06-01T00:00:00Z', 'soon']) expect(momentOf(text)).toBeNull()
})
