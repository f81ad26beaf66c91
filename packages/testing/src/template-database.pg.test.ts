import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { databaseName, withAdmin } from './database.ts'
import { assertNoConnections, createTemplate, dropDatabasesByPrefix } from './template-database.ts'
import { testDatabase } from './vitest.ts'

const database = await testDatabase()
const postgres = { url: database.adminUrl }
const prefix = databaseName(database.url)

const prepare = (log: string[]) => async (url: string) => {
  log.push(url)
  await withAdmin(url, (client) => client.query('create table fact as select 42 as answer'))
}

describe('a template', () => {
  test('is prepared once for concurrent callers, and each clone is separate', async () => {
    const log: string[] = []
    const templates = await Promise.all([1, 2, 3].map(() => createTemplate(postgres, `${prefix}_once`, prepare(log))))
    const [first, second] = await Promise.all(templates.map((template) => template.clone()))
    expect(log).toHaveLength(1)
    await withAdmin(String(first), (client) => client.query('update fact set answer = 43'))
    expect(await answer(String(first))).toBe(43)
    expect(await answer(String(second))).toBe(42)
  })

  test('that could not be prepared is prepared again the next time', async () => {
    const name = `${prefix}_retry`
    const failing = createTemplate(postgres, name, async (url) => {
      await prepare([])(url)
      throw new Error('the migration is wrong')
    })
    await expect(failing).rejects.toThrow('the migration is wrong')
    const template = await createTemplate(postgres, name, prepare([]))
    expect(await answer(await template.clone())).toBe(42)
  })

  test('refuses a name that Postgres would truncate', async () => {
    await expect(createTemplate(postgres, 'x'.repeat(60), prepare([]))).rejects.toThrow('too long')
  })
})

test('an open connection is a leak, reported with its last statement', async () => {
  const url = await database.another()
  const client = new pg.Client({ connectionString: url, application_name: 'forgetful' })
  await client.connect()
  await client.query('select 1 as forgotten')
  await expect(assertNoConnections(postgres.url, url, 50)).rejects.toThrow(
    /One connection is still open.*\n- forgetful, idle: select 1 as forgotten/,
  )
  await client.end()
  await assertNoConnections(postgres.url, url)
})

test('databases are dropped by their prefix', async () => {
  const made = await dropDatabasesByPrefix(postgres.url, `${prefix}_`)
  expect(made).toBeGreaterThanOrEqual(3)
  expect(await dropDatabasesByPrefix(postgres.url, `${prefix}_`)).toBe(0)
})

async function answer(url: string): Promise<unknown> {
  return withAdmin(
    url,
    async (client) => (await client.query<{ answer: number }>('select answer from fact')).rows[0]?.answer,
  )
}
