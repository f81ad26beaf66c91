import { base58 } from '@scure/base'
import { expect, it } from 'vitest'
import { chainHash, imad, paymentReference, traceNumber } from './reference.ts'

it.each([
  ['base', /^0x[0-9a-f]{64}$/],
  ['stellar', /^[0-9a-f]{64}$/],
  ['xrp_ledger', /^[0-9A-F]{64}$/],
  ['canton', /^1220[0-9a-f]{64}$/],
])('a hash on %s has the format of that chain', (transferType, format) => {
  expect(chainHash(transferType, 'seed')).toMatch(format)
  expect(chainHash(transferType, 'seed')).toBe(chainHash(transferType, 'seed'))
  expect(chainHash(transferType, 'other')).not.toBe(chainHash(transferType, 'seed'))
})

it('a signature on Solana is base58 of 64 bytes', () => {
  expect(base58.decode(chainHash('solana', 'seed'))).toHaveLength(64)
})

it('an IMAD is a date, eight characters and six digits', () => {
  expect(imad('2026-11-20', 1_000_042)).toBe('20261120OUTL0001000042')
  expect(imad('2026-11-20', 42)).not.toBe(imad('2026-11-20', 1_000_042))
})

it('a trace number has fifteen digits and stays unique past seven digits of entries', () => {
  expect(traceNumber(7)).toBe('710000100000007')
  expect(traceNumber(10_000_007)).toBe('710000110000007')
})

it('every rail has its own format of references', () => {
  expect(paymentReference('wire', 'seed', 1, '2026-11-20')).toHaveLength(22)
  expect(paymentReference('same_day_ach_credit', 'seed', 1, '2026-11-20')).toHaveLength(15)
  expect(paymentReference('polygon', 'seed', 1, '2026-11-20')).toHaveLength(66)
})
