import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Id } from './id.ts'

const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const entropy = fc.uint8Array({ minLength: 10, maxLength: 10 })
const make = (ms: number, bytes: Uint8Array) => Id.generate({ now: () => new Date(ms) }, { bytes: () => bytes })

describe('Id, for any time and entropy', () => {
  it('goes to a UUID and back', () => {
    fc.assert(
      fc.property(time, entropy, (ms, bytes) => {
        const id = make(ms, bytes)
        expect(Id.is(id)).toBe(true)
        expect(Id.fromUuid(Id.toUuid(id))).toBe(id)
        expect(Id.timeOf(id).getTime()).toBe(ms)
      }),
    )
  })

  it('comes from any UUID and goes back to it', () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        expect(Id.toUuid(Id.fromUuid(uuid))).toBe(uuid)
      }),
    )
  })

  it('keeps the order of time, as text and as UUID', () => {
    fc.assert(
      fc.property(time, time, entropy, entropy, (left, right, a, b) => {
        fc.pre(left < right)
        const [first, second] = [make(left, a), make(right, b)]
        expect(first < second).toBe(true)
        expect(Id.toUuid(first) < Id.toUuid(second)).toBe(true)
      }),
    )
  })
})
