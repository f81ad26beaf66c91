import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool, type PoolClient } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { testTenants } from '../../test/tenants.ts'
import { inClientTransaction } from '../context.ts'
import { reportUnboundRole } from './row-security.ts'
import { asClient } from './tenant.ts'

const database = await testDatabase({ role: 'ordinary' })
const above = await testDatabase()
const {
  clientIds: [a, b],
  context: { schema },
} = await testTenants(database.url)
const pool = new Pool({ connectionString: database.url, max: 2 })
afterAll(() => pool.end())

/** Tables without a tenant's rows: the list of migrations, the time of the simulated world, and digests of keys. */
const ownerless = ['migration', 'simulation_clock', 'key_check']

/** Credentials, and what banks and chains know: no client sees any of it. */
const hidden = new Set([
  'arrival_mark',
  'client',
  'client_secret',
  'rail_fact',
  'rail_virtual_account',
  'rail_deposit',
  'simulated_bank_flow',
  'simulated_bank_item',
  'webhook_endpoint',
])

const tables = await listTables(pool)

interface Table {
  readonly name: string
  readonly columns: readonly string[]
  /** Those that an insert may name. */
  readonly written: readonly string[]
  /** One that an update may name. */
  readonly column: string
}

async function listTables(on: Pool | PoolClient): Promise<readonly Table[]> {
  const { rows } = await on.query<Table>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns,
            array_agg(a.attname::text order by a.attnum) filter (where a.attgenerated = '') as written,
            (array_agg(a.attname::text order by a.attnum) filter (where a.attidentity = ''))[1] as "column"
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and c.relname <> all ($2)
      group by c.relname order by c.relname`,
    [schema, ownerless],
  )
  return rows
}

/** SQL for the client that a row belongs to; it has to come from elsewhere than the policies. */
function ownerOf({ name, columns }: Table): string {
  const ofAccount = (account: string) =>
    `(select client_id from ${schema}.client_account where account_id = ${account})`
  const ofAutomation = ofAccount(`(select account_id from ${schema}.automation where id = t.automation_id)`)
  if (name === 'client') return 't.id'
  if (name === 'webhook_endpoint') return `split_part(t.key, ' ', 1)`
  if (name === 'account') return ofAccount('t.id')
  if (name === 'ledger_entry')
    return ofAccount(`(select account_id from ${schema}.ledger_account where id = t.ledger_account_id)`)
  if (name === 'arrival_mark') return ofAccount(`(select account_id from ${schema}.transfer where id = t.transfer_id)`)
  if (columns.includes('client_id')) return 't.client_id'
  if (columns.includes('account_id')) return ofAccount('t.account_id')
  if (columns.includes('owner_id')) return ofAccount('t.owner_id')
  if (columns.includes('automation_id')) return ofAutomation
  throw new Error(`This test does not know whose the rows of ${name} are; teach it.`)
}

async function rowsOf(on: Pick<PoolClient, 'query'> | ReturnType<typeof inspect>, table: Table, client: string) {
  const { rows } = await on.query(
    `select to_jsonb(t)::text as row from ${schema}.${table.name} t where ${ownerOf(table)} = $1`,
    [client],
  )
  return texts(rows)
}

const texts = (rows: readonly { readonly row?: unknown }[]) => rows.map(({ row }) => String(row)).sort()

const rolledBack = Symbol('rolled back')

/** Runs `work` in a transaction of a client, or of no client, and rolls it back. */
async function tried<T>(client: string | undefined, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  let result: { readonly value: T } | undefined
  const attempt = async (tx: PoolClient) => {
    result = { value: await work(tx) }
    throw rolledBack
  }
  const withoutClient = async () => {
    const tx = await pool.connect()
    try {
      await tx.query('begin')
      await attempt(tx)
    } finally {
      await tx.query('rollback')
      tx.release()
    }
  }
  await (client === undefined ? withoutClient() : inClientTransaction({ pool }, client, attempt)).catch((error) => {
    if (error !== rolledBack) throw error
  })
  if (result === undefined) throw new Error('The attempt gave no result.')
  return result.value
}

const become = (tx: PoolClient) => tx.query(`select set_config('outlay.system', 'on', true)`)

/** Disables the table's own triggers, so that only the policies decide. */
const disarm = (tx: PoolClient, { name }: Table) => tx.query(`alter table ${schema}.${name} disable trigger user`)

const everyRow = (name: string) => `${schema}.${name} as t`

describe.each(tables)('the table $name', (table) => {
  const { name, column } = table

  it('has rows of two clients, and shows each client its own', async () => {
    for (const client of [a, b]) {
      const own = await rowsOf(inspect(pool), table, client)
      expect(own).not.toEqual([])
      const seen = await asClient({ pool }, client).send({
        text: `select to_jsonb(t)::text as row from ${everyRow(name)}`,
        values: [],
      })
      expect(texts(seen.rows)).toEqual(hidden.has(name) ? [] : own)
    }
  })

  it('shows no rows to a statement without a setting', async () => {
    const touched = await tried(undefined, async (tx) => {
      await disarm(tx, table)
      const seen = await tx.query(`select from ${everyRow(name)}`)
      const updated = await tx.query(`update ${everyRow(name)} set ${column} = ${column}`)
      const deleted = await tx.query(`delete from ${everyRow(name)}`)
      return [seen.rowCount, updated.rowCount, deleted.rowCount]
    })
    expect(touched).toEqual([0, 0, 0])
    for (const client of [a, b]) await expect(tried(undefined, copyOf(client))).rejects.toMatchObject(violation)
  })

  it.each([`update ${everyRow(name)} set ${column} = t.${column}`, `delete from ${everyRow(name)}`])(
    'keeps the rows of others from %s',
    async (statement) => {
      const own = await rowsOf(inspect(pool), table, a)
      const others = await rowsOf(inspect(pool), table, b)
      const { touched, left } = await tried(a, async (tx) => {
        await disarm(tx, table)
        const { rows } = await tx.query(`${statement} returning to_jsonb(t)::text as row`)
        await become(tx)
        return { touched: texts(rows), left: await rowsOf(tx, table, b) }
      })
      expect(own).toEqual(expect.arrayContaining(touched))
      expect(left).toEqual(others)
    },
  )

  it('refuses a row for another client', async () => {
    await expect(tried(a, copyOf(b))).rejects.toMatchObject(violation)
  })

  it('refuses to move a row to another client', async () => {
    const key = ['account_id', 'client_id', 'ledger_account_id'].find((one) => table.columns.includes(one))
    if (key === undefined || hidden.has(name)) return
    const { rows } = await inspect(pool).query(
      `select t.${key} as value from ${everyRow(name)} where ${ownerOf(table)} = $1 limit 1`,
      [b],
    )
    const given = tried(a, async (tx) => {
      await disarm(tx, table)
      return (await tx.query(`update ${everyRow(name)} set ${key} = $1`, [rows[0].value])).rowCount
    })
    // Where a client changes nothing, nothing is given away.
    await expect(
      given.then(
        (count) => count === 0 || 'given away',
        ({ code }) => code === violation.code,
      ),
    ).resolves.toBe(true)
  })

  /** Writes one more row like those of a client. */
  function copyOf(client: string) {
    return async (tx: PoolClient) => {
      const [row] = await rowsOf(inspect(pool), table, client)
      await tx.query(
        `insert into ${schema}.${name} (${table.written}) overriding system value
         select ${table.written} from jsonb_populate_record(null::${schema}.${name}, $1)`,
        [row],
      )
    }
  }
})

const violation = { code: '42501' }

it.each([
  ['a superuser', 'superuser', [{ level: 'warn' }]],
  ['an ordinary role', 'ordinary', []],
] as const)('warns of nothing but a role that no policy binds: %s', async (_, role, said) => {
  const logger = recordingLogger()
  const { url } = role === 'superuser' ? above : database
  const own = new Pool({ connectionString: url, max: 1 })
  await reportUnboundRole({ pool: own, logger }, false).finally(() => own.end())
  expect(logger.entries).toMatchObject(said)
})

/** Tables without a forced policy, and views that run with another role's rights. */
async function findUnguarded(on: Pool | PoolClient): Promise<readonly string[]> {
  const { rows } = await on.query<{ name: string }>(
    `select c.relname as name
       from pg_class c
      where c.relnamespace = $1::regnamespace and c.relname <> all ($2)
        and (c.relkind in ('r', 'p') and not (
               c.relrowsecurity and c.relforcerowsecurity and exists (select from pg_policy p where p.polrelid = c.oid)
             )
             or c.relkind = 'v' and not coalesce('security_invoker=true' = any (c.reloptions), false)
             or c.relkind = 'm')
      order by c.relname`,
    [schema, ownerless],
  )
  return rows.map(({ name }) => name)
}

it('guards every table and every view of the schema', async () => {
  expect(await findUnguarded(pool)).toEqual([])
})

it.each([
  ['no policy', 'create table {} (account_id text)'],
  ['no force', 'create table {} (account_id text); alter table {} enable row level security; create policy p on {}'],
  ['no rights of its reader', 'create view {} as select * from {{schema}}.transfer'],
])('would name what is new and has %s', async (_, text) => {
  const name = 'brand_new'
  const sql = text.replaceAll('{{schema}}', schema).replaceAll('{}', `${schema}.${name}`)
  const found = await tried(undefined, async (tx) => {
    await tx.query(sql)
    return await findUnguarded(tx)
  })
  expect(found).toEqual([name])
})

it('runs as a role that owns the tables and is neither a superuser nor above policies', async () => {
  const { rows } = await pool.query(
    `select rolsuper, rolbypassrls,
            (select bool_and(tableowner = current_user) from pg_tables where schemaname = $1) as owner
       from pg_roles where rolname = current_user`,
    [schema],
  )
  expect(rows).toEqual([{ rolsuper: false, rolbypassrls: false, owner: true }])
})
