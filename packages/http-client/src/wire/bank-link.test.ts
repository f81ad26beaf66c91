import { OutlayError } from '@outlay/core'
import { expect, test } from 'vitest'
import { decodeLinkToken, decodeRegistration } from './bank-link.ts'
import { parseJson } from './json.ts'

test('a link token is read with its expiry and its callback', () => {
  const text = `{"link_token": "link-1", "expiration": "2026-01-02T07:04:05Z",
    "callback_url": "https://api.example.com/callback"}`
  expect(decodeLinkToken(parseJson(text))).toEqual({
    linkToken: 'link-1',
    expiration: '2026-01-02T07:04:05Z',
    callbackUrl: 'https://api.example.com/callback',
  })
})

test('a token is read alone', () => {
  expect(decodeLinkToken(parseJson('{"link_token": "link-2"}'))).toEqual({ linkToken: 'link-2' })
})

test('an answer without a token is unreadable, by its member', () => {
  expect(() => decodeLinkToken({})).toThrow(
    expect.objectContaining({ code: 'unreadable_response', field: 'link_token' }),
  )
  expect(() => decodeLinkToken('link-1')).toThrow(OutlayError)
})

test('a registration returns one id, or the first of several', () => {
  expect(decodeRegistration(parseJson('{"financial_institution_id": "fi-1"}')).ids).toEqual(['fi-1'])
  const text = '{"financial_institution_id": "fi-1", "financial_institution_ids": ["fi-1", "fi-2"]}'
  expect(decodeRegistration(parseJson(text)).ids).toEqual(['fi-1', 'fi-2'])
  expect(decodeRegistration(['fi-1']).ids).toEqual([])
})

test('a registration returns the id of an address, alone or beside that of an institution', () => {
  expect(decodeRegistration({ address_id: 'a' })).toEqual({ addressId: 'a', ids: ['a'] })
  expect(decodeRegistration({ address_id: 'a', financial_institution_id: 'fi' })).toEqual({
    addressId: 'a',
    ids: ['fi'],
  })
})
