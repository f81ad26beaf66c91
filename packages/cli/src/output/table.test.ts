import { describe, expect, it } from 'vitest'
import { formatFields, formatTable, plural, printable } from './table.ts'

describe('a table', () => {
  it('aligns its columns under their headings and shows null as a dash', () => {
    const rows = [
      { id: 'a', count: 10 },
      { id: 'long-one', count: null },
    ]
    const text = formatTable(rows, [
      ['id', (row) => row.id],
      ['count', (row) => row.count],
    ])
    expect(text).toBe('ID        COUNT\na         10\nlong-one  -')
  })

  it('cuts long cells, and lets no foreign text move the cursor or forge a line', () => {
    const text = formatTable([{ said: `\u001b[2Jok\nSERIOUS ${'x'.repeat(200)}` }], [['said', (row) => row.said]])
    expect(text.split('\n')).toHaveLength(2)
    expect(text).toContain('\\u001b[2Jok\\u000aSERIOUS')
    expect(text.split('\n')[1]).toHaveLength(120)
    expect(printable('a\u202eb')).toBe('a\\u202eb')
  })

  it('of names and values leaves out what is null', () => {
    expect(
      formatFields([
        ['a', 1],
        ['bcd', null],
        ['ef', 'x'],
      ]),
    ).toBe('a   1\nef  x')
  })

  it('counts in words', () => {
    expect([plural(1, 'job'), plural(2, 'job'), plural(0, 'job')]).toEqual(['1 job', '2 jobs', '0 jobs'])
  })
})
