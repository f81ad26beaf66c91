import { describe, expect, it } from 'vitest'
import { Column, rowDecoder } from './row-decoder.ts'

const decode = (kind: Column<unknown>, value: unknown) => rowDecoder('claim', { sentAt: kind })({ sent_at: value })

describe('a decoder of rows', () => {
  it('reads the column in snake case for each member', () => {
    const read = rowDecoder('claim', { id: Column.text, accountId: Column.text, account_name: Column.text })
    const row = { id: '1', account_id: '2', account_name: '3', other: 4 }
    expect(read(row)).toStrictEqual({ id: '1', accountId: '2', account_name: '3' })
  })

  it('reads another column where one is named, also one that may be null', () => {
    const read = rowDecoder('claim', {
      transferId: Column.from('id', Column.text),
      sentAt: Column.from('sent', Column.nullable(Column.text)),
      note: Column.from('remark', Column.optional(Column.text)),
    })
    expect(read({ id: '1', sent: null, remark: 'a' })).toStrictEqual({ transferId: '1', sentAt: null, note: 'a' })
    expect(() => read({ id: 1, sent: null })).toThrow('The claim row has a number in the column "id", not text.')
  })

  it('lists its columns for a statement, without those that may be missing', () => {
    const read = rowDecoder('claim', {
      transferId: Column.from('id', Column.text),
      sentAt: Column.nullable(Column.text),
      note: Column.optional(Column.text),
      returns: Column.or(Column.text, null),
    })
    expect(read.columns).toEqual(['id', 'sent_at', 'note'])
  })

  it('says which column of which row is missing', () => {
    expect(() => rowDecoder('claim', { accountId: Column.text })({ accountId: 'a' })).toThrow(
      new Error('The claim row lacks the column "account_id".'),
    )
  })

  it('never quotes a value', () => {
    expect(() => decode(Column.integer, 'secret')).toThrow(
      new Error('The claim row has text in the column "sent_at", not an integer.'),
    )
  })
})

describe('a kind of column', () => {
  it.each<[string, Column<unknown>, readonly unknown[]]>([
    ['text', Column.text, ['', 'a', '2026-01-01T00:00:00.000Z']],
    ['word', Column.word<'queued'>(), ['queued', 'of a later release']],
    ['integer', Column.integer, [0, -1, Number.MAX_SAFE_INTEGER]],
    ['number', Column.number, [0, 0.5, -1e300]],
    ['anyNumber', Column.anyNumber, [0, 0.5, -1]],
    ['boolean', Column.boolean, [true, false]],
    ['date', Column.date, [new Date(0)]],
    ['texts', Column.texts, [[], ['a', 'b']]],
    ['words', Column.words<'a'>(), [[], ['a', 'of a later release']]],
    ['json', Column.json(), [{ a: 1 }, [1]]],
  ])('%s passes on what it expects', (_, kind, values) => {
    for (const value of values) expect(decode(kind, value)).toStrictEqual({ sentAt: value })
  })

  it.each<[string, Column<unknown>, readonly unknown[]]>([
    ['text', Column.text, [1, 1n, new Date(0), true, {}, ['a']]],
    ['word', Column.word<'queued'>(), [1, {}]],
    ['integer', Column.integer, ['1', 1n, 0.5, Number.NaN, 2 ** 53, true]],
    ['number', Column.number, ['1', 1n, Number.NaN, Number.POSITIVE_INFINITY]],
    ['anyNumber', Column.anyNumber, ['', ' ', 'a', 'NaN', '9007199254740993', 2n ** 60n, true, {}, new Date(0)]],
    ['boolean', Column.boolean, ['t', 'true', 1]],
    ['date', Column.date, ['2026-01-01', 0, new Date(Number.NaN)]],
    ['isoTime', Column.isoTime, ['2026-01-01T00:00:00.000Z', 0, new Date(Number.NaN)]],
    ['texts', Column.texts, ['{a,b}', 'a', [1], ['a', null], {}]],
    ['words', Column.words<'a'>(), ['{a,b}', [1], ['a', null]]],
    ['json', Column.json(), ['{"a":1}', 1, true, new Date(0)]],
  ])('%s refuses what it does not expect', (_, kind, values) => {
    for (const value of values)
      expect(() => decode(kind, value)).toThrow(/^The claim row has .+ in the column "sent_at"/)
  })

  it.each(
    Object.entries({
      ...{ text: Column.text, word: Column.word(), integer: Column.integer, number: Column.number },
      ...{ anyNumber: Column.anyNumber, boolean: Column.boolean, date: Column.date },
      ...{ isoTime: Column.isoTime, words: Column.words() },
      ...{ texts: Column.texts, json: Column.json() },
    }),
  )('%s refuses null and a missing column', (_, kind) => {
    expect(() => decode(kind, null)).toThrow('The claim row has null in the column "sent_at", not ')
    expect(() => rowDecoder('claim', { sentAt: kind })({})).toThrow('The claim row lacks the column "sent_at".')
  })

  it('anyNumber reads text and bigints as numbers', () => {
    expect(decode(Column.anyNumber, '12')).toEqual({ sentAt: 12 })
    expect(decode(Column.anyNumber, '0.25')).toEqual({ sentAt: 0.25 })
    expect(decode(Column.anyNumber, 7n)).toEqual({ sentAt: 7 })
  })

  it('isoTime reads a Date as text', () => {
    expect(decode(Column.isoTime, new Date(0))).toEqual({ sentAt: '1970-01-01T00:00:00.000Z' })
  })
})

describe('a column without a value', () => {
  const read = (kind: Column<unknown>, row: Readonly<Record<string, unknown>>) =>
    rowDecoder('claim', { note: kind })(row)

  it('is null where it is nullable, but has to be there', () => {
    expect(read(Column.nullable(Column.text), { note: null })).toStrictEqual({ note: null })
    expect(() => read(Column.nullable(Column.text), {})).toThrow('The claim row lacks the column "note".')
    expect(() => read(Column.nullable(Column.text), { note: 1 })).toThrow(
      'has a number in the column "note", not text.',
    )
  })

  it.each(['none', 0, undefined])('is the fallback %s where there is one', (fallback) => {
    expect(read(Column.or(Column.text, fallback), { note: null })).toStrictEqual({ note: fallback })
    expect(read(Column.or(Column.text, fallback), {})).toStrictEqual({ note: fallback })
    expect(read(Column.or(Column.text, fallback), { note: 'a' })).toStrictEqual({ note: 'a' })
    expect(() => read(Column.or(Column.text, fallback), { note: 1 })).toThrow('not text.')
  })

  it('gives no member where it is optional', () => {
    expect(read(Column.optional(Column.text), { note: null })).toStrictEqual({})
    expect(read(Column.optional(Column.text), {})).toStrictEqual({})
    expect(read(Column.optional(Column.text), { note: 'a' })).toStrictEqual({ note: 'a' })
    expect(() => read(Column.optional(Column.text), { note: 1 })).toThrow('not text.')
  })
})
