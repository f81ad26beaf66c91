import { OutlayError } from '@outlay/core'
import { expect, test } from 'vitest'
import { decodeLinkToken, decodeRegisteredIds, decodeUpdateLinkToken } from './bank-link.ts'
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

test('an update token is read alone', () => {
  expect(decodeUpdateLinkToken(parseJson('{"link_token": "link-2"}'))).toEqual({ linkToken: 'link-2' })
  expect(decodeLinkToken({ link_token: 'link-3' })).toEqual({ linkToken: 'link-3' })
})

test('an answer without a token is unreadable, by its member', () => {
  for (const decode of [decodeLinkToken, decodeUpdateLinkToken]) {
    expect(() => decode({})).toThrow(expect.objectContaining({ code: 'unreadable_response', field: 'link_token' }))
    expect(() => decode('link-1')).toThrow(OutlayError)
  }
})

test('a registration returns one id, or the first of several', () => {
  expect(decodeRegisteredIds(parseJson('{"financial_institution_id": "fi-1"}'))).toEqual(['fi-1'])
  const text = '{"financial_institution_id": "fi-1", "financial_institution_ids": ["fi-1", "fi-2"]}'
  expect(decodeRegisteredIds(parseJson(text))).toEqual(['fi-1', 'fi-2'])
  expect(decodeRegisteredIds(['fi-1'])).toEqual([])
})
