import { seededRandom } from '@outlay/testing'
import { expect, it } from 'vitest'
import { createSecrets } from './secrets.ts'

const random = seededRandom(1)
const old = { id: 'old', key: random.bytes(32) }
const young = { id: 'young', key: random.bytes(32) }
const macKey = random.bytes(32)
const place = { table: 'address', column: 'bank_account_number', row: 'A' }
const secrets = createSecrets({ keys: [old], macKey, random })

it('opens what it sealed for the same place', () => {
  const sealed = secrets.seal('123456789', place)
  expect(sealed).not.toContain('123456789')
  expect(secrets.open(sealed, place)).toBe('123456789')
  expect(secrets.seal('123456789', place)).not.toBe(sealed)
})

it('does not open it at another row, column or table', () => {
  const sealed = secrets.seal('123456789', place)
  for (const other of [{ row: 'B' }, { column: 'ein' }, { table: 'account' }])
    expect(() => secrets.open(sealed, { ...place, ...other })).toThrow()
})

it('refuses a ciphertext in which any octet changed', () => {
  const parts = secrets.seal('123456789', place).split('.')
  for (const at of [2, 3]) {
    const octets = Buffer.from(parts[at] ?? '', 'base64url')
    for (let index = 0; index < octets.length; index += 1) {
      const changed = Buffer.from(octets)
      changed[index] = (changed[index] ?? 0) ^ 1
      const sealed = parts.with(at, changed.toString('base64url')).join('.')
      expect(() => secrets.open(sealed, place)).toThrow()
    }
  }
})

it('opens with an older key and seals with the newest', () => {
  const rotated = createSecrets({ keys: [young, old], macKey, random })
  expect(rotated.open(secrets.seal('x', place), place)).toBe('x')
  expect(rotated.seal('x', place)).toMatch(/^v1\.young\./)
  expect(() => secrets.open(rotated.seal('x', place), place)).toThrow('does not exist')
})

it('makes different digests of one value for two purposes, and equal ones for one purpose', () => {
  expect(secrets.mac('a', 'value')).toBe(secrets.mac('a', 'value'))
  expect(secrets.mac('a', 'value')).not.toBe(secrets.mac('b', 'value'))
  const other = createSecrets({ keys: [old], macKey: random.bytes(32), random })
  expect(other.mac('a', 'value')).not.toBe(secrets.mac('a', 'value'))
})
