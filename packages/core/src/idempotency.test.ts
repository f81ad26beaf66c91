import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, type Digest, fingerprint, IdempotencyKey } from './idempotency.ts'

describe('IdempotencyKey.parse', () => {
  it.each(['x', '7f9c1d1e-0f9e-4a52-9a0b-1f0f7b0a4c11', '!~', '"', '"a', 'a"', 'k'.repeat(255)])(
    'accepts %s',
    (key) => {
      expect(IdempotencyKey.parse(key)).toBe(key)
    },
  )

  it.each([undefined, null, ''])('misses %j', (key) => {
    expect(() => IdempotencyKey.parse(key)).toThrow(
      expect.objectContaining({ code: 'idempotency_key_missing', field: 'idempotencyKey' }),
    )
  })

  it.each(['a b', '"inv-7"', '""', 'ä', 'a\n', 'k'.repeat(256), 5])('refuses %s', (key) => {
    expect(() => IdempotencyKey.parse(key, 'Idempotency-Key')).toThrow(
      expect.objectContaining({ code: 'idempotency_key_invalid', field: 'Idempotency-Key' }),
    )
  })
})

describe('IdempotencyKey.decide', () => {
  it.each([
    [{}, 'reuse'],
    [{ status: 500 }, 'reuse'],
    [{ status: 503 }, 'reuse'],
    [{ status: 429 }, 'reuse'],
    [{ status: 401 }, 'reuse'],
    [{ status: 408 }, 'reuse'],
    [{ status: 409, code: 'idempotency_key_in_flight' }, 'reuse'],
    [{ status: 422, code: 'insufficient_balance' }, 'reuse'],
    [{ status: 201 }, 'reuse'],
    [{ status: 422, code: 'idempotency_key_mismatch' }, 'renew'],
    [{ status: 422, code: 'invalid_account_number' }, 'renew'],
    [{ status: 404, code: 'not_found' }, 'renew'],
    [{ status: 400 }, 'reuse'],
    [{ status: 404 }, 'reuse'],
    [{ status: 399 }, 'reuse'],
    [{ status: 403 }, 'reuse'],
    [{ status: 425 }, 'reuse'],
    [{ status: 409 }, 'reuse'],
    [{ status: 409, code: 'conflict' }, 'renew'],
    [{ status: 409, code: 'idempotency_key_mismatch' }, 'renew'],
    [{ status: 422, code: 'idempotency_key_in_flight' }, 'reuse'],
    [{ status: 503, code: 'idempotency_key_mismatch' }, 'reuse'],
    [{ status: 429, code: 'idempotency_key_mismatch' }, 'reuse'],
  ] as const)('after %j says %s', (answer, decision) => {
    expect(IdempotencyKey.decide(answer)).toBe(decision)
  })
})

describe('canonicalJson', () => {
  it('sorts keys, leaves out undefined members and every space', () => {
    expect(canonicalJson({ b: [1, null, 'x'], a: { d: true, c: undefined }, Z: 0.5 })).toBe(
      '{"Z":0.5,"a":{"d":true},"b":[1,null,"x"]}',
    )
  })

  it('keeps text apart from numbers, and one text from another', () => {
    expect(canonicalJson({ value: '1.0' })).not.toBe(canonicalJson({ value: '1.00' }))
    expect(canonicalJson({ value: '1' })).not.toBe(canonicalJson({ value: 1 }))
    expect(canonicalJson('\ud800')).not.toBe(canonicalJson('\ud801'))
  })

  it.each([
    [1n],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [() => 1],
    [Symbol('x')],
    [new Date(0)],
    [new Map()],
    [undefined],
  ])('throws Error for %s', (value) => {
    expect(() => canonicalJson([value])).toThrow(/plain JSON data/)
  })

  it('accepts objects without a prototype', () => {
    expect(canonicalJson(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}')
  })
})

const undigested: Digest = (text) => text

describe('fingerprint', () => {
  it('is the SHA-256 of the canonical JSON', () => {
    expect(fingerprint({})).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a')
  })

  it('is that of the canonical JSON for all data, whatever the order of its members', () => {
    const backwards = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(backwards)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([key, inner]) => [key, backwards(inner)]),
            )
          : value
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const sorted = JSON.parse(canonicalJson(value))
        const text = canonicalJson(value)
        for (const one of [value, sorted, backwards(sorted)]) expect(fingerprint(one, undigested)).toBe(text)
      }),
    )
  })

  it.each([[[undefined]], [{ a: [() => 1] }], [{ a: { b: Number.NaN } }], [{ a: new Date(0) }]])(
    'throws Error for %s as canonicalJson does',
    (value) => {
      expect(() => fingerprint(value)).toThrow(/plain JSON data/)
    },
  )
})
