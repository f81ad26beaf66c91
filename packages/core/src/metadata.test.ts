import { expect, it } from 'vitest'
import { OutlayError } from './error.ts'
import { Metadata } from './metadata.ts'

const refusal = (value: unknown): unknown => {
  try {
    return Metadata.parse(value, '3.metadata')
  } catch (error) {
    return OutlayError.is(error) ? [error.code, error.field] : error
  }
}

it.each([
  ['no object', 'order=1', ['invalid_request', '3.metadata']],
  ['a list', ['order'], ['invalid_request', '3.metadata']],
  ['a number', { order: 1042 }, ['invalid_request', '3.metadata.order']],
  ['a nested object', { order: { id: '1' } }, ['invalid_request', '3.metadata.order']],
  ['null', { order: null }, ['invalid_request', '3.metadata.order']],
  ['NUL', { order: 'a\0' }, ['invalid_request', '3.metadata.order']],
  ['half a surrogate pair', { order: '\ud83d' }, ['invalid_request', '3.metadata.order']],
  ['an empty key', { '': 'x' }, ['invalid_request', '3.metadata']],
  ['a key of 41 characters', { ['k'.repeat(41)]: 'x' }, ['metadata_too_large', '3.metadata']],
  ['a value of 501 characters', { order: 'x'.repeat(501) }, ['metadata_too_large', '3.metadata.order']],
  [
    '51 pairs',
    Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, 'x'])),
    ['metadata_too_large', '3.metadata'],
  ],
])('refuses %s, with the field', (_, value, expected) => {
  expect(refusal(value)).toEqual(expected)
})

it('takes up to the limits, counted in characters as people do', () => {
  const full = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`${'k'.repeat(38)}${index + 10}`, '😀'.repeat(500)]),
  )
  expect(Metadata.parse(full)).toEqual(full)
})

it.each([[undefined], [null], [{}], [{ order: undefined }]])('reads %j as none', (value) => {
  expect(Metadata.parse(value)).toBeUndefined()
})

it('keeps a pair whose key is __proto__ as a pair', () => {
  expect(Object.entries(Metadata.parse(JSON.parse('{"__proto__":"x"}')) ?? {})).toEqual([['__proto__', 'x']])
})
