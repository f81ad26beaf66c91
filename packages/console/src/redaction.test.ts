import { describe, expect, it } from 'vitest'
import { redact, redactFree } from './redaction.ts'

describe('a text of others', () => {
  it.each([
    ['account 9876543210987 is closed', 'account [hidden] is closed'],
    ['account 9876-5432 109', 'account [hidden]'],
    ['to DE89 3704 0044 0532 0130 00.', 'to [hidden].'],
    ['to DE89370400440532013000', 'to [hidden]'],
    ['Authorization: Bearer abc.def-ghi_jkl', 'Authorization: [hidden]'],
    ['sent bearer abcdefgh12345678', 'sent bearer [hidden]'],
    ['{"client_secret":"hunter2x"}', '{"client_secret":"[hidden]"}'],
    ['password=hunter2&user=a', 'password=[hidden]&user=a'],
    ['postgres://user:pa55@db:5432/x', 'postgres://[hidden]@db:5432/x'],
    ['key whsec_abcdefgh12345678', 'key [hidden]'],
    ['to de89370400440532013000.', 'to [hidden].'],
    ['to de89 3704 0044 0532 0130 00 this week', 'to [hidden] this week'],
    ['to gb29nwbk60161331926819', 'to [hidden]'],
    ['A/C No.1234', 'A/C No.[hidden]'],
    ['a/c 12 34 56', 'a/c [hidden]'],
    ['acct1234567 and Acct: 4321', 'acct[hidden] and Acct: [hidden]'],
    ['Account No. 55512, account number 4242', 'Account No. [hidden], account number [hidden]'],
    ['No.9876543210987', 'No.[hidden]'],
    ['beneficiary_account_9876543210 closed', 'beneficiary_account_[hidden] closed'],
    ['X9876543210', 'X[hidden]'],
    ['acct_9876543210', 'acct_[hidden]'],
    ['account 9876\u00a05432\u00a0109', 'account [hidden]'],
    ['9876.5432.1098 and 9876/5432/1098', '[hidden] and [hidden]'],
    ['konto:９８７６５４３２１０', 'konto:[hidden]'],
    ['a/c 12.34.5678, acct 1234.5678', 'a/c [hidden], acct [hidden]'],
    ['number 98765432101.', 'number [hidden].'],
    ['{"account_number":"12345","accountNumber": 987654}', '{"account_number":"[hidden]","accountNumber": [hidden]}'],
    [
      'beneficiaryAccountNumber=4242, routing_number: 0210',
      'beneficiaryAccountNumber=[hidden], routing_number: [hidden]',
    ],
    ['eyJhbGciOi.eyJzdWIiOj.abc', '[hidden]'],
  ])('hides what may be a number or a secret: %s', (text, shown) => {
    expect(redact(text)).toBe(shown)
  })

  it.each([
    'Transfer 01K8ACC0VNTX5R2D7Q3M9W1ZEB failed at 2026-11-26T16:34:22.123Z.',
    'The wallet has 12500000.00 USD, and 5 of 100000 are waiting.',
    'The service answered 503 after 30000 ms.',
    'It carried the key 02299680-35db-80f4-8c78-112572123355.',
    'The account acct_4217 has 1200 transfers; account 17 has 1234.',
    'It is no12 have that many here, and de89 were that late.',
    'It was sent on 2026-11-26 16:34, due 26/11/2026 and 26.11.2026, from 2026/11/01.',
    'connect ECONNREFUSED 192.168.100.200:5432',
    'The batch pays 12 500 000.00 USD, and a2299680-35db-80f4-8c78-112572123355 is its key.',
    'No process has attended "books" for 3 h; see "outlay doctor".',
  ])('keeps what people have to read: %s', (text) => {
    expect(redact(text)).toBe(text)
  })

  it('is hidden in free structures by the names of its members alone', () => {
    const policy = { when: { amounts: { USD: { from: '100000000' } } }, hold: 'as 123456789' }
    expect(redactFree([policy], new Set())).toEqual([{ ...policy, hold: 'as [hidden]' }])
  })

  it('is hidden in metadata of free structures, unless its name is shown', () => {
    const after = { filter: { metadata: { bank: '987654321', order: '123456789', note: 'ok' } } }
    expect(redactFree(after, new Set(['order']))).toEqual({
      filter: { metadata: { bank: '[hidden]', order: '123456789', note: 'ok' } },
    })
  })
})
