import { describe, expect, it } from 'vitest'
import { readFiles } from './repository.ts'
import { findAssertedColumns } from './rows.ts'

describe('rows', () => {
  it('are decoded by the adapters, which assert no type of a column', () => {
    expect(readFiles().flatMap(findAssertedColumns)).toEqual([])
  })
})

describe('the check of rows', () => {
  const check = (text: string, path = 'packages/adapters-pg/src/a.ts') => findAssertedColumns({ path, text })

  it.each([
    `const a = row['id'] as string`,
    `const a = row?.['id'] as string`,
    `const a = (row['id'] ?? null) as string | null`,
    `const a = rows.map((row) => row['id'] as string)`,
    `const a = row['id']! as string`,
    `const a = (await read())[0]?.['id'] as unknown as string`,
  ])('reports %s', (text) => {
    expect(check(text)).not.toEqual([])
  })

  it('accepts columns that are compared, types that are indexed, tests and other packages', () => {
    expect(check(`const a = row['taken'] === true`)).toEqual([])
    expect(check(`const a = b as Claim['registration']`)).toEqual([])
    expect(check(`const a = row[0] as string`)).toEqual([])
    expect(check(`const a = row['id'] as string`, 'packages/adapters-pg/src/a.pg.test.ts')).toEqual([])
    expect(check(`const a = row['id'] as string`, 'packages/service/src/a.ts')).toEqual([])
  })
})
