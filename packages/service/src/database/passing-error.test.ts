import { OutlayError } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { isAboutContent, isInTheWay, isUnstorable } from './passing-error.ts'
import { UnreadableRowError } from './statement.ts'

const coded = (code: string, error: Error = new Error('It fails.')) => Object.assign(error, { code })
const judge = (error: unknown) => [isInTheWay(error), isAboutContent(error), isUnstorable(error)]

describe('an error that is in the way of everything', () => {
  it.each([
    ...[
      '08006',
      '25006',
      '28000',
      '28P01',
      '3D000',
      '40001',
      '40P01',
      '42501',
      '42P01',
      '53300',
      '55P03',
      '57014',
      '57P01',
    ],
    ...['58030', 'F0000', 'ECONNRESET', 'ECONNREFUSED'],
  ])('has the code %s', (code) => expect(judge(coded(code))).toEqual([true, false, false]))

  it.each([
    ['one of the driver, without a code', new Error('Connection terminated unexpectedly')],
    ['a part that is not there now', new OutlayError('service_unavailable', 'Later.')],
  ])('is %s', (_, error) => expect(judge(error)).toEqual([true, false, false]))
})

describe('an error that may pass, for all that is known', () => {
  it.each([
    ...['0A000', 'XX000', 'XX001', '99999', 'P0', '22'],
    ...['EMFILE', 'EADDRNOTAVAIL', 'ECONNABORTED', 'ERR_STREAM_DESTROYED', 'CERT_HAS_EXPIRED'],
  ])('has the code %s', (code) => expect(judge(coded(code))).toEqual([false, false, false]))

  it.each([
    ['one that nobody has thought of', new Error('SASL: the server says no')],
    ['a TypeError of Node', coded('ERR_INVALID_STATE', new TypeError('Invalid state'))],
    ['no error', 'a text'],
  ])('is %s', (_, error) => expect(judge(error)).toEqual([false, false, false]))
})

describe('an error that blames what was written', () => {
  it.each(['23505', '23514', 'P0001', 'P0004'])('has the code %s', (code) =>
    expect(judge(coded(code))).toEqual([false, true, false]),
  )

  it.each(['22P05', '22003', '54000', '54001'])('and cannot be stored, has the code %s', (code) =>
    expect(judge(coded(code))).toEqual([false, true, true]),
  )

  it.each([
    ['a refusal', new OutlayError('invalid_amount', 'No.')],
    ['a row that cannot be read', new UnreadableRowError('The fact row lacks the column "id".')],
    ['a value that cannot be read', new RangeError('Invalid time value')],
    ['JSON that cannot be read', new SyntaxError('Unexpected token')],
    ['a member of nothing', new TypeError('Cannot read properties of undefined')],
  ])('is %s', (_, error) => expect(judge(error)).toEqual([false, true, false]))
})
