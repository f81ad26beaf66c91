import { readdir } from 'node:fs/promises'
import { expect, it, vi } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { testSchema } from '../../test/service.ts'
import { serviceMigrations } from './migrations.ts'
import type { Statement } from './statement.ts'
import { systemSession } from './tenant.ts'

// A process prepares each statement once on a connection and goes on while a later release migrates. Migrations only add.

const { statements } = vi.hoisted(() => ({ statements: new Map<string, Statement<unknown>>() }))
vi.mock('./statement.ts', async (load) => {
  const original = await load<typeof import('./statement.ts')>()
  const statement = (...given: Parameters<typeof original.statement>) => {
    const made = original.statement(...given)
    statements.set(made.name, made)
    return made
  }
  return { ...original, statement }
})

/** Every source of the package, apart from the program of the sandbox, which runs when it is imported. */
const sources = (await readdir(new URL('../', import.meta.url), { recursive: true })).filter(
  (file) => /\.ts$/.test(file) && !/\.test(-d)?\.ts$/.test(file) && file !== 'sandbox/main.ts',
)
const { pool } = await serviceDatabase()
const functions = serviceMigrations.filter(({ repeatable }) => repeatable)

it('every prepared statement outlives a migration that adds columns to every table and replaces every function', async () => {
  await Promise.all(sources.map((file) => import(new URL(`../${file}`, import.meta.url).href)))
  expect(statements.size).toBeGreaterThan(100)
  const client = await pool.connect()
  const failed: Record<string, string> = {}
  try {
    await client.query(systemSession.begin)
    for (const { name, text } of statements.values()) {
      await client.query(`prepare "${name}" as ${text.replaceAll('{{schema}}', testSchema)}`)
    }
    const { rows: tables } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind = 'r'`,
      [testSchema],
    )
    for (const { name } of tables) {
      await client.query(`alter table ${testSchema}."${name}" add column added_later integer not null default 1`)
    }
    await client.query('set check_function_bodies = off')
    for (const { sql } of functions) await client.query(sql.replaceAll('{{schema}}', testSchema))
    const { rows: prepared } = await client.query<{ name: string; parameters: number }>(
      'select name, cardinality(parameter_types) as parameters from pg_prepared_statements',
    )
    for (const { name, parameters } of prepared) {
      if (!statements.has(name)) continue
      const values = Array.from({ length: parameters }, () => 'null').join(', ')
      await client.query('begin')
      await client.query(`execute "${name}" ${parameters === 0 ? '' : `(${values})`}`).catch((error: Error) => {
        const { code, column } = error as { code?: string; column?: string }
        if (code === '0A000' || code === '42804' || column === 'added_later') failed[name] = error.message
      })
      await client.query('rollback')
    }
  } finally {
    client.release(true)
  }
  expect(failed).toEqual({})
})
