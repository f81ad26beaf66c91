import { OutlayError } from '@outlay/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Attempt } from './connection.ts'
import { readSubmitResult } from './gateway.ts'
import { decodePage } from './pagination.ts'
import type { Call } from './request.ts'
import { parseJson } from './wire/json.ts'
import { decodeTransfer } from './wire/transfer.ts'

const call: Call = { accountId: 'account', method: 'POST', path: '/accounts/account/transfers', body: '{}' }

const names = fc.constantFrom(
  'id',
  'code',
  'error',
  'errors',
  'message',
  'detail',
  'type',
  'source',
  'status',
  'amount',
)
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('insufficient_balance', 'idempotency_key_mismatch', 'pending', '/a/b', ''),
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(names, tie('tree')),
  ),
}))
const text = fc.oneof(
  tree.map((value) => JSON.stringify(value)),
  fc.string(),
)
const answerOf = (status: number, body: string): Attempt => ({
  kind: 'answer',
  token: 'token',
  answer: { kind: 'answer', status, headers: {}, text: body },
})

test('every answer has an outcome, and only an explicit refusal means that nothing happened', () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), text, (status, body) => {
      const { outcome } = readSubmitResult(call, answerOf(status, body), new Date(0))
      if (status < 200 || status >= 500 || (status >= 300 && status < 400)) expect(outcome).toBe('unknown')
      else if (status < 300) expect(['accepted', 'unknown']).toContain(outcome)
      else expect(outcome).not.toBe('accepted')
    }),
  )
})

test('an invalid transfer or page is unreadable_response', () => {
  fc.assert(
    fc.property(text, (body) => {
      for (const decode of [decodeTransfer, (value: unknown) => decodePage(value, 'transfers', decodeTransfer)]) {
        try {
          decode(parseJson(body))
        } catch (error) {
          expect(OutlayError.is(error, 'unreadable_response')).toBe(true)
        }
      }
    }),
  )
})

test('an amount that is a JSON number keeps its digits', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^(0|[1-9]\d{0,25})(\.\d{1,18})?$/), (digits) => {
      expect(parseJson(`{"amount": {"value": ${digits}, "currency": "USD"}}`)).toEqual({
        amount: { value: digits, currency: 'USD' },
      })
    }),
  )
})
