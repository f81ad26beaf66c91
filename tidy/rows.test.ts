import { describe, expect, it } from 'vitest'
import { readFiles } from './repository.ts'
import { findAssertedRows } from './rows.ts'

describe('rows', () => {
  it('are decoded by the adapters and the service, which assert the type of none', () => {
    expect(readFiles().flatMap(findAssertedRows)).toEqual([])
  })
})

describe('the check of rows', () => {
  const check = (text: string, path = 'packages/service/src/a.ts') => findAssertedRows({ path, text })

  it.each([
    `const a = row['id'] as string`,
    `const a = row?.['id'] as string`,
    `const a = (row['id'] ?? null) as string | null`,
    `const a = rows.map((row) => row['id'] as string)`,
    `const a = row['id']! as string`,
    `const a = (await read())[0]?.['id'] as unknown as string`,
    `const a = row as Transfer`,
    `const a = rows[0] as unknown as Transfer`,
    `const a = (await pool.query(text)).rows as Transfer[]`,
    `const a = (await run(tx, context, selectTransfer)) as readonly Transfer[]`,
    `const a = run(tx, context, selectTransfer) as Promise<readonly Transfer[]>`,
    `const [a] = await run<Transfer>(tx, context, selectTransfer)`,
    `const { rows } = await context.pool.query<{ name: string }>(text)`,
    `const { rows } = await executor.send<Transfer>(query)`,
  ])('reports %s', (text) => {
    expect(check(text)).not.toEqual([])
    expect(check(text, 'packages/adapters-pg/src/a.ts')).not.toEqual([])
  })

  it.each([
    `const a = row['taken'] === true`,
    `const a = b as Claim['registration']`,
    `const a = parts[0] as string`,
    `const a = (await pool.query(text)).rows as Row[]`,
    `const a = await tx.$queryRawUnsafe<readonly Row[]>(text)`,
    `const [a] = await run(tx, context, selectTransfer)`,
    `const a = track<Transfer>(key, work)`,
  ])('accepts %s', (text) => {
    expect(check(text)).toEqual([])
  })

  it('leaves tests and other packages alone', () => {
    expect(check(`const a = row['id'] as string`, 'packages/service/src/a.pg.test.ts')).toEqual([])
    expect(check(`const a = row['id'] as string`, 'packages/cli/src/a.ts')).toEqual([])
  })
})
