import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withAdmin } from './database.ts'
import { testDatabase } from './vitest.ts'

const database = await testDatabase({
  key: 'vitest-test',
  prepare: async (url) => {
    await withAdmin(url, (client) => client.query('create table fact as select 42 as answer'))
  },
})
const pool = new pg.Pool({ connectionString: database.url })
afterAll(() => pool.end())

let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'outlay-vitest-'))
})

afterAll(() => rm(dir, { recursive: true, force: true }))

test('a test file has its own prepared database, and can create more', async () => {
  await pool.query('update fact set answer = 43')
  const other = await database.another()
  expect(other).not.toBe(database.url)
  expect((await withAdmin(other, (client) => client.query('select answer from fact'))).rows).toEqual([{ answer: 42 }])
})

test('an ordinary role owns its databases with the prepared objects, and every policy applies to it', async () => {
  const prepare = (url: string) =>
    withAdmin(url, (client) => client.query('create schema own; create table own.fact ()'))
  const ordinary = await testDatabase({ role: 'ordinary', prepare: async (url) => void (await prepare(url)) })
  for (const url of [ordinary.url, await ordinary.another()]) {
    const { rows } = await withAdmin(url, (client) =>
      client.query(
        `select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb,
                (select tableowner = current_user from pg_tables where schemaname = 'own') as is_owner
           from pg_roles where rolname = current_user`,
      ),
    )
    const nothingElse = { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false }
    expect(rows).toEqual([{ ...nothingElse, is_owner: true }])
  }
})

test('a key that is too long for a name is refused', async () => {
  await expect(testDatabase({ key: 'Not A Key' })).rejects.toThrow('The key is')
})

/** Runs vitest over one test file; returns whether it passed and what it said. */
async function runVitest(name: string, source: string, hasSetup = true): Promise<{ passed: boolean; output: string }> {
  const here = (file: string) => JSON.stringify(new URL(file, import.meta.url).pathname)
  const require = createRequire(import.meta.url)
  await writeFile(
    join(dir, `${name}.test.ts`),
    `import { createRequire } from 'node:module'
     import { testDatabase } from ${here('./vitest.ts')}
     const pg = createRequire(${here('./vitest.ts')})('pg')
     ${source}`,
  )
  const config = join(dir, `${name}.config.mjs`)
  const globalSetup = hasSetup ? `[${here('./vitest-setup.ts')}]` : '[]'
  const settings = `{ globals: true, include: ['${name}.test.ts'], globalSetup: ${globalSetup} }`
  await writeFile(config, `export default { test: ${settings} }`)
  const vitest = join(dirname(require.resolve('vitest/package.json')), 'vitest.mjs')
  const env = { ...process.env, OUTLAY_TEST_DATABASE_URL: database.adminUrl, VITEST: undefined }
  return new Promise((resolve) => {
    execFile(process.execPath, [vitest, 'run', '--root', dir, '--config', config], { env }, (error, stdout, stderr) =>
      resolve({ passed: error === null, output: stdout + stderr }),
    )
  })
}

/** Databases and roles that a run has left; it prints the name of its own. */
const leftBehind = async (output: string) => {
  const prefix = /made (outlay_[0-9a-f]{8}_)/.exec(output)?.[1] ?? 'no name was printed'
  expect(prefix).toMatch(/^outlay_/)
  const text = `select datname as name from pg_database where starts_with(datname, $1)
                union all select rolname from pg_roles where starts_with(rolname, $1)`
  return (await withAdmin(database.adminUrl, (admin) => admin.query(text, [prefix]))).rows
}

test.each([
  ['with the global setup', true],
  ['without the global setup', false],
] as const)('a test file that closes its pool passes and leaves nothing behind, %s', async (_name, hasSetup) => {
  const { passed, output } = await runVitest(
    'tidy',
    `const database = await testDatabase({ key: 'k', role: 'ordinary', prepare: async () => {} })
     const pool = new pg.Pool({ connectionString: database.url })
     afterAll(() => pool.end())
     console.log('made ' + new URL(database.url).pathname.slice(1))
     test('works', async () => { expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]) })`,
    hasSetup,
  )
  expect(output).toContain('1 passed')
  expect(passed).toBe(true)
  expect(await leftBehind(output)).toEqual([])
})

test('a test file that leaks a connection fails, and still leaves nothing behind', async () => {
  const { passed, output } = await runVitest(
    'leaky',
    `const database = await testDatabase()
     const client = new pg.Client(database.url)
     client.on('error', () => {})
     console.log('made ' + new URL(database.url).pathname.slice(1))
     test('works', async () => { await client.connect(); await client.query('select 1 as forgotten') })`,
  )
  expect(output).toContain('One connection is still open')
  expect(output).toContain('select 1 as forgotten')
  expect(passed).toBe(false)
  expect(await leftBehind(output)).toEqual([])
})
