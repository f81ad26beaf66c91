import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { queueSchema, setQueueVersion } from '../../test/queue.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { applyMigrations, engineMigrations, type Migration } from './migrate.ts'

describe('migrations', async () => {
  const database = await testDatabase()
  const pools: pg.Pool[] = []
  const open = (url: string) => {
    const pool = new pg.Pool({ connectionString: url })
    pools.push(pool)
    return pool
  }
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
  })

  it('run once when several processes start them at the same time, and again without effect', async () => {
    const pool = open(database.url)
    const backend = () => postgres({ driver: pgDriver(pool), schema: 'payments' })
    await expect(backend().check()).rejects.toMatchObject({
      code: 'not_migrated',
      message: expect.stringMatching(
        /^There is no engine in the schema "\w+"; run "outlay migrate" or engine\.migrate\(\)/,
      ),
    })
    await Promise.all([backend().migrate(), backend().migrate(), backend().migrate()])
    await backend().migrate()
    await expect(backend().check()).resolves.toBeUndefined()
    const { rows } = await pool.query('select name from payments.migration order by name')
    expect(rows.map((row) => row.name).sort()).toEqual(engineMigrations.map(({ name }) => name).sort())
  })

  it('come as SQL text too, which makes the same schema', async () => {
    const [migrated, scripted] = [open(await database.another()), open(await database.another())]
    const backends = [migrated, scripted].map((pool) => postgres({ driver: pgDriver(pool) }))
    await backends[0]?.migrate()
    await scripted.query(backends[1]?.migrationSql() ?? '')
    await backends[1]?.check()
    expect(await describeSchema(scripted)).toEqual(await describeSchema(migrated))
    const engine = createEngine({ backend: postgres({ driver: pgDriver(scripted) }), gateway: memoryGateway() })
    await engine.start()
    await engine.stop()
  })

  it('leave nothing behind when one fails, and are refused when one that has run was changed', async () => {
    const pool = open(await database.another())
    const client = await pool.connect()
    const first: Migration = { name: '0001_first', sql: 'create table {{schema}}.one (id integer);', repeatable: false }
    const broken: Migration = {
      name: '0002_broken',
      sql: 'create table {{schema}}.two (id integer); select * from nowhere;',
      repeatable: false,
    }
    await expect(applyMigrations(client, { schema: 'app', migrations: [first, broken] })).rejects.toThrow(/nowhere/)
    const { rows } = await client.query(`select to_regclass('app.one') as one, to_regclass('app.two') as two`)
    expect(rows[0]).toEqual({ one: 'app.one', two: null })
    expect(await applyMigrations(client, { schema: 'app', migrations: [first] })).toEqual([])
    const changed = { ...first, sql: `${first.sql} -- changed` }
    await expect(applyMigrations(client, { schema: 'app', migrations: [changed] })).rejects.toThrow(/never change/)
    client.release()
  })

  it('make no session wait while a transaction keeps them from their locks, and run when it has ended', async () => {
    const pool = open(await database.another())
    const create: Migration = { name: '0001_one', sql: 'create table {{schema}}.one (id integer);', repeatable: false }
    const change: Migration = {
      name: '0002_more',
      sql: 'alter table {{schema}}.one add column more integer;',
      repeatable: false,
    }
    const [migrating, holding] = [await pool.connect(), await pool.connect()]
    await applyMigrations(migrating, { schema: 'app', migrations: [create] })
    await holding.query('begin; select * from app.one for update')
    const changing = applyMigrations(migrating, { schema: 'app', migrations: [create, change] })
    await waitUntil(async () => {
      const { rows } = await pool.query(`select 1 from pg_locks where relation = 'app.one'::regclass and not granted`)
      return rows.length > 0
    })
    await pool.query('insert into app.one values (1)')
    await holding.query('insert into app.one values (2); commit')
    expect(await changing).toEqual(['0002_more'])
    const { rows } = await pool.query('select * from app.one')
    expect(rows).toEqual([1, 2].map((id) => ({ id, more: null })))
    await holding.query(`set application_name = 'the report'; begin; select * from app.one`)
    const drop: Migration = { name: '0003_drop', sql: 'drop table {{schema}}.one;', repeatable: false }
    await waitUntil(async () => {
      const { rows } = await pool.query(`select now() - xact_start > interval '1 s' as old from pg_stat_activity
        where application_name = 'the report'`)
      return rows[0]?.old === true
    })
    const migrations = [create, change, drop]
    await expect(applyMigrations(migrating, { schema: 'app', migrations, patienceMs: 100 })).rejects.toThrow(
      /0003_drop did not get the locks.*\(the report/,
    )
    await holding.query('commit')
    expect(await applyMigrations(migrating, { schema: 'app', migrations })).toEqual(['0003_drop'])
    migrating.release()
    holding.release()
  })

  it('that run statement by statement hold no writer up, and make an index again that an interruption left useless', async () => {
    const pool = open(await database.another())
    const create: Migration = { name: '0001_one', sql: 'create table {{schema}}.one (id integer);', repeatable: false }
    const index: Migration = {
      name: '0002_index',
      sql: `-- concurrently: so that nobody waits
create unique index concurrently one_id on {{schema}}.one (id);
create index concurrently one_negative on {{schema}}.one (id) where id < 0;
`,
      repeatable: false,
    }
    const [migrating, holding] = [await pool.connect(), await pool.connect()]
    await applyMigrations(migrating, { schema: 'app', migrations: [create] })
    await pool.query('insert into app.one values (7), (7)')
    const migrate = (patienceMs = 60_000) =>
      applyMigrations(migrating, { schema: 'app', migrations: [create, index], patienceMs })
    await expect(migrate()).rejects.toThrow(/one_id/)
    const readIndexes = async () =>
      (
        await pool.query(`select indexrelid::regclass::text as name, indisvalid as valid from pg_index
          where indrelid = 'app.one'::regclass order by 1`)
      ).rows
    expect(await readIndexes()).toEqual([{ name: 'app.one_id', valid: false }])
    await pool.query('truncate app.one')
    await holding.query('begin; insert into app.one values (1)')
    await expect(migrate(100)).rejects.toThrow(/0002_index did not get the locks/)
    const migrated = migrate()
    await waitUntil(async () => {
      const { rows } = await pool.query(`select 1 from pg_locks where locktype = 'virtualxid' and not granted
        and pid in (select pid from pg_stat_activity where datname = current_database())`)
      return rows.length > 0
    })
    await pool.query('insert into app.one values (2)')
    await holding.query('commit')
    expect(await migrated).toEqual(['0002_index'])
    expect(await readIndexes()).toEqual([
      { name: 'app.one_id', valid: true },
      { name: 'app.one_negative', valid: true },
    ])
    expect((await migrating.query('show lock_timeout')).rows).toEqual([{ lock_timeout: '0' }])
    migrating.release()
    holding.release()
  })

  it('never leave an id at the service without a unique index, wherever one is interrupted and run again', async () => {
    const pool = open(await database.another())
    const client = await pool.connect()
    // A table needs the functions of its triggers.
    const numbered = engineMigrations.filter(({ repeatable, sql }) => !repeatable || sql.includes('returns trigger'))
    const split = numbered.findIndex(({ name }) => name.includes('0012_gateways_remote_ids'))
    expect(split).toBeGreaterThan(0)
    await applyMigrations(client, { schema: 'outlay', migrations: numbered.slice(0, split) })
    const readUnique = async () =>
      (
        await pool.query(`select i.indexrelid::regclass::text as name from pg_index i
          where i.indrelid = 'outlay.transfer'::regclass and i.indisunique and i.indisvalid and i.indnkeyatts > 1
            and pg_get_indexdef(i.indexrelid) like '%(remote_id, account_id%' order by 1`)
      ).rows.map(({ name }) => name)
    const seen: (readonly string[])[] = []
    let isDone = false
    // Each run is interrupted one statement later than the one before.
    for (let runs = 1; !isDone && runs < 100; runs += 1) {
      let left = runs
      const session: typeof client.query = (async (...given: [string]) => {
        if (left === 0) throw new Error('killed')
        left -= 1
        const answer = await client.query(...given)
        seen.push(await readUnique())
        return answer
      }) as never
      isDone = await applyMigrations({ query: session } as never, { schema: 'outlay', migrations: numbered }).then(
        () => true,
        (error) => {
          if (error.message !== 'killed') throw error
          return false
        },
      )
      await client.query('select pg_advisory_unlock_all()')
    }
    expect(isDone).toBe(true)
    expect(seen.filter((names) => names.length === 0)).toEqual([])
    expect(await readUnique()).toEqual(['outlay.transfer_gateway_remote_id'])
    client.release()
  })

  it('leave the functions of a later release alone, and add numbered ones that are missing', async () => {
    const pool = open(await database.another())
    const client = await pool.connect()
    const numbered = (name: string): Migration => ({ name, sql: 'select 1;', repeatable: false })
    const greeting = (text: string): Migration => ({
      name: 'greeting',
      sql: `create or replace function {{schema}}.greeting() returns text language sql as $$ select '${text}' $$;`,
      repeatable: true,
    })
    const migrate = (...migrations: Migration[]) => applyMigrations(client, { schema: 'app', migrations })
    const greet = async () => (await client.query('select app.greeting()')).rows[0].greeting
    await migrate(numbered('0001_first'), greeting('earlier'))
    expect(await migrate(numbered('0001_first'), numbered('0003_third'), greeting('later'))).toEqual([
      '0003_third',
      'greeting',
    ])
    expect(await migrate(numbered('0001_first'), numbered('0002_second'), greeting('earlier'))).toEqual(['0002_second'])
    expect(await greet()).toBe('later')
    client.release()
  })

  it('make new functions before those that may call them are replaced, behind the tables', async () => {
    const pool = open(await database.another())
    const client = await pool.connect()
    const made = (name: string, called: string): Migration => ({
      name: `functions/${name}`,
      sql: `create or replace function {{schema}}.${name}() returns text language sql as $$ select ${called} $$;`,
      repeatable: true,
    })
    const table: Migration = { name: '0001_first', sql: 'create table {{schema}}.first ();', repeatable: false }
    const steps: string[] = []
    const migrate = (...migrations: Migration[]) =>
      applyMigrations(client, { schema: 'app', migrations, onStep: (name) => void steps.push(name) })
    await migrate(made('a', `'a'`), made('z', `'z'`))
    await migrate(table, made('a', '{{schema}}.b()'), made('b', `'b'`), made('z', '{{schema}}.b()'))
    expect(steps.slice(2)).toEqual(['0001_first', 'functions/b', 'functions/a', 'functions/z'])
    client.release()
  })

  it('replace functions all at once, so that those which call each other are of one release wherever a migration is interrupted', async () => {
    const pool = open(await database.another())
    const client = await pool.connect()
    const calling = (name: string, called: string): Migration => ({
      name: `functions/${name}`,
      sql: `create or replace function {{schema}}.${name}() returns text language sql as $$ select ${called} $$;`,
      repeatable: true,
    })
    const called = (sql: string): Migration => ({ name: 'functions/m', sql, repeatable: true })
    const earlier = [
      calling('a', '{{schema}}.m()'),
      called(`create or replace function {{schema}}.m() returns text language sql as $$ select 'earlier' $$;`),
      calling('z', '{{schema}}.m()'),
    ]
    const later = [
      calling('a', `{{schema}}.m('later')`),
      called(`create or replace function {{schema}}.m(p_text text) returns text language sql as $$ select p_text $$;
drop function if exists {{schema}}.m();`),
      calling('z', `{{schema}}.m('later')`),
    ]
    await applyMigrations(client, { schema: 'app', migrations: earlier })
    const seen = new Set<string>()
    const query: typeof client.query = (async (...given: [string]) => {
      const answer = await client.query(...given)
      const { rows } = await pool.query('select app.a(), app.z()')
      seen.add(`${rows[0].a} ${rows[0].z}`)
      return answer
    }) as never
    await applyMigrations({ query } as never, { schema: 'app', migrations: later })
    expect([...seen]).toEqual(['earlier earlier', 'later later'])
    client.release()
  })

  it('of a later release let this one start, unless one of them forbids it', async () => {
    const pool = open(await database.another())
    const backend = postgres({ driver: pgDriver(pool) })
    await backend.migrate()
    const add = (name: string) =>
      pool.query(`begin; set local outlay.migrating = 'yes';
        insert into outlay.migration (name, checksum) values ('${name}', ''); commit`)
    await add('9998_a_new_column')
    await expect(backend.check()).resolves.toBeUndefined()
    await add('9999_closes_earlier')
    await expect(backend.check()).rejects.toMatchObject({ code: 'schema_too_new' })
  })

  it('refuse a queue schema of a version that was not tested', async () => {
    const pool = open(await database.another())
    const backend = postgres({ driver: pgDriver(pool) })
    await backend.migrate()
    await setQueueVersion(pool, 44)
    await expect(backend.check()).rejects.toMatchObject({ code: 'queue_version_untested' })
  })
})

async function describeSchema(pool: pg.Pool): Promise<unknown> {
  const columns = await pool.query(
    `select table_schema, table_name, column_name, data_type, column_default, is_nullable from information_schema.columns
     where table_schema in ('outlay', '${queueSchema}') order by 1, 2, 3`,
  )
  const indexes = await pool.query(
    `select indexdef from pg_indexes where schemaname in ('outlay', '${queueSchema}') order by 1`,
  )
  const routines = await pool.query(
    `select proname, prosrc from pg_proc where pronamespace in ('outlay'::regnamespace, '${queueSchema}'::regnamespace) order by 1, 2`,
  )
  return { columns: columns.rows, indexes: indexes.rows, routines: routines.rows }
}
