import { expect, it } from 'vitest'
import { formatCsv } from './csv.ts'

it('is a heading and a line for each row', () => {
  const rows = [{ id: 'x', count: 1 }]
  const text = formatCsv(rows, [
    ['id', (row) => row.id],
    ['count', (row) => row.count],
  ])
  expect(text).toBe('id,count\r\nx,1')
})

it.each([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  [null, ''],
  ['-12.50', '-12.50'],
  ['=cmd()', "'=cmd()"],
  ['+1 555', "'+1 555"],
  ['@sum(a1)', "'@sum(a1)"],
])('has %j as %j', (value, cell) => {
  expect(formatCsv([value], [['a', (row) => row]])).toBe(`a\r\n${cell}`)
})
