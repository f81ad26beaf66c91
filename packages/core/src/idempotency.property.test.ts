import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, fingerprint } from './idempotency.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>

const reordered = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reordered(inner)]),
  )
}

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Paths of all leaves. */
const leaves = (value: Json, path: (string | number)[] = []): (string | number)[][] => {
  if (Array.isArray(value)) return value.flatMap((inner, at) => leaves(inner, [...path, at]))
  if (isObject(value)) return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]))
  return [path]
}

const replaced = (value: Json, [step, ...rest]: (string | number)[], leaf: Json): Json => {
  if (step === undefined) return leaf
  if (Array.isArray(value)) return value.map((inner, at) => (at === step ? replaced(inner, rest, leaf) : inner))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, key === step ? replaced(inner, rest, leaf) : inner]),
  )
}

describe('fingerprints', () => {
  it('ignore the order of keys and the whitespace of the text', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(fingerprint(reordered(value))).toBe(fingerprint(value))
        expect(fingerprint(JSON.parse(JSON.stringify(value, null, 3)))).toBe(fingerprint(value))
      }),
    )
  })

  it('see every value', () => {
    fc.assert(
      fc.property(
        json,
        fc.nat(),
        fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
        (value, at, leaf) => {
          const paths = leaves(value)
          fc.pre(paths.length > 0)
          const changed = replaced(value, paths[at % paths.length] ?? [], leaf)
          fc.pre(JSON.stringify(changed) !== JSON.stringify(value))
          expect(fingerprint(changed)).not.toBe(fingerprint(value))
        },
      ),
    )
  })

  it('are made of text that reads back to the same data', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})
