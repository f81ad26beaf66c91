import { fingerprint } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { systemRuntime } from './runtime.ts'

describe('the runtime of the system', () => {
  const { digest, random } = systemRuntime()

  it('digests as core does', () => {
    for (const value of [{}, { memo: 'Grüße, 東京, 🚀' }, { amount: { value: '1.00', currency: 'USD' } }]) {
      expect(fingerprint(value, digest)).toBe(fingerprint(value))
    }
  })

  it('hands every octet out once, however many are asked for', () => {
    const given = [10, 4_096, 1, 5_000, 16].map((length) => random.bytes(length))
    expect(given.map(({ length }) => length)).toEqual([10, 4_096, 1, 5_000, 16])
    const ids = Array.from({ length: 5_000 }, () => Buffer.from(random.bytes(10)).toString('hex'))
    expect(new Set(ids).size).toBe(5_000)
  })
})
