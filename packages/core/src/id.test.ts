import { describe, expect, it } from 'vitest'
import { Id } from './id.ts'

const zero = { bytes: (length: number) => new Uint8Array(length) }
const ones = { bytes: (length: number) => new Uint8Array(length).fill(255) }
const at = (iso: string) => ({ now: () => new Date(iso) })

describe('Id', () => {
  it('encodes the known ULID of a known millisecond', () => {
    const clock = { now: () => new Date(1_469_918_176_385) }
    expect(Id.generate(clock, zero)).toBe('01ARYZ6S410000000000000000')
    expect(Id.generate(clock, ones)).toBe('01ARYZ6S41ZZZZZZZZZZZZZZZZ')
  })

  it('sorts by time', () => {
    const earlier = Id.generate(at('2026-11-05T10:00:00.000Z'), ones)
    expect(earlier < Id.generate(at('2026-11-05T10:00:00.001Z'), zero)).toBe(true)
  })

  it('ascends within a millisecond, and has the time of each', () => {
    const times = [5, 5, 5, 6, 5].map((ms) => new Date(ms))
    const clock = { now: () => times.shift() as Date }
    const nextId = Id.createSequence(clock, ones)
    const ids = [nextId(), nextId(), nextId(), nextId()]
    expect(ids).toEqual([...new Set(ids)].sort())
    expect(ids.map((id) => Id.timeOf(id).getTime())).toEqual([5, 5, 5, 6])
    expect(Id.timeOf(nextId()).getTime()).toBe(5)
  })

  it('has the time at which it was generated', () => {
    expect(Id.timeOf(Id.generate(at('2026-11-05T10:00:00.123Z'), ones)).toISOString()).toBe('2026-11-05T10:00:00.123Z')
  })

  it('fits the path pattern of the specification', () => {
    expect(Id.generate(at('2026-11-05T10:00:00Z'), ones)).toMatch(/^[a-zA-Z0-9]{26}$/)
  })

  it.each([
    undefined,
    26,
    '',
    '01ARYZ6S41',
    '81ARYZ6S410000000000000000',
    '01aryz6s410000000000000000',
    '01ARYZ6S41000000000000000U',
  ])('refuses %s', (value) => {
    expect(Id.is(value)).toBe(false)
    expect(() => Id.parse(value, 'transferId')).toThrow(
      expect.objectContaining({ code: 'invalid_id', field: 'transferId' }),
    )
  })

  it('has the same bits as a UUID', () => {
    expect(Id.toUuid('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')).toBe('ffffffff-ffff-ffff-ffff-ffffffffffff')
    expect(Id.toUuid('00000000000000000000000001')).toBe('00000000-0000-0000-0000-000000000001')
    expect(Id.fromUuid('FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF')).toBe('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')
  })

  it('accepts neither half of a conversion for the other', () => {
    expect(() => Id.toUuid('ffffffff-ffff-ffff-ffff-ffffffffffff')).toThrow(/needs a ULID/)
    expect(() => Id.fromUuid('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')).toThrow(/needs a UUID/)
    expect(() => Id.timeOf('x')).toThrow(/needs a ULID/)
  })
})
