import { afterEach, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'
import { queueSchema } from '../../test/queue.ts'

/** Makes the schema one of an earlier release, and gives what makes it current again. */
interface Ageing {
  readonly age: string
  readonly renew: string
}

const migration: Ageing = {
  age: `update outlay.migration set name = 'x' || name where name = (select max(name) from outlay.migration)`,
  renew: `update outlay.migration set name = substr(name, 2) where name like 'x%'`,
}
const queue: Ageing = {
  age: `update ${queueSchema}.version set version = version - 1`,
  renew: `update ${queueSchema}.version set version = version + 1`,
}
/** What only the sentences about the place and other holds use. */
const reads: Ageing = {
  age: `alter table outlay.transfer rename column not_before to later; alter function outlay.sending_state() rename to later`,
  renew: `alter table outlay.transfer rename column later to not_before; alter function outlay.later() rename to sending_state`,
}

describe('on a schema of an earlier release', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })
  /** Changes the schema, as a migration does. */
  const change = (text: string) => host.pool.query(`begin; set local outlay.migrating = 'yes'; ${text}; commit`)
  const undo: string[] = []
  afterEach(async () => {
    for (const text of undo.splice(0).reverse()) await change(text)
  })
  const become = async ({ age, renew }: Ageing) => {
    await change(age)
    undo.push(renew)
  }
  const holds = async () => {
    const { rows } = await host.pool.query(
      `select array(select scope from outlay.stop order by 1) as stops,
        array(select account_id from outlay.account where paused) as paused,
        exists (select 1 from outlay.known_database where fenced_since is not null) as fenced`,
    )
    return rows[0]
  }
  const hold = async () => [
    await run('stop', '--all', '--reason', 'a drill'),
    await run('stop', '--account', 'acme'),
    await run('accounts', 'pause', 'acme'),
    await run('fence'),
  ]

  it.each([
    ['of migrations', [migration]],
    ['of the queue', [queue]],
    ['of migrations, of which it lacks what other commands read', [migration, reads]],
  ])('%s, the commands that hold payments back work', async (_, ageings) => {
    for (const ageing of ageings) await become(ageing)
    const runs = await hold()
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual(runs.map(() => [0, '']))
    expect(runs.map(({ stdout }) => stdout)).toEqual([
      expect.stringMatching(/^Stopped: everything\./),
      expect.stringMatching(/^Stopped: the account acme\./),
      expect.stringMatching(/^acme is paused\./),
      expect.stringMatching(/^Fenced\./),
    ])
    expect(await holds()).toEqual({ stops: ['account', 'all'], paused: ['acme'], fenced: true })
  })

  it.each([
    [
      'of migrations',
      migration,
      /start-sending --all".*\n.*the command that ends it is refused\. Run "outlay migrate" before/s,
    ],
    ['of the queue', queue, /start-sending --all".*\n.*the command that ends it is refused\. Install the release/s],
  ])('%s, a stop says that what ends it needs the migration', async (_, ageing, text) => {
    expect((await run('stop', '--all')).stdout).not.toContain('refused')
    await become(ageing)
    expect((await run('stop', '--account', 'acme')).stdout).toContain('is refused')
    await host.pool.query('delete from outlay.stop')
    expect((await run('stop', '--all')).stdout).toMatch(text)
    expect(JSON.parse((await run('stop', '--all', '--json')).stdout)).toMatchObject({ stopped: true })
  })

  it('those that let payments go are refused, and hold nothing less', async () => {
    await hold()
    await become(migration)
    const before = await holds()
    for (const args of [
      ['start-sending', '--all'],
      ['accounts', 'resume', 'acme'],
      ['adopt-database', '--moved'],
      ['transfers', 'cancel', '01J0000000000000000000000A'],
    ]) {
      const { code, stderr } = await run(...args, '--json')
      expect([code, JSON.parse(stderr).error.code]).toEqual([1, 'not_migrated'])
    }
    expect(await holds()).toEqual(before)
  })

  it('a command whose table, column or function does not exist there is refused like the others', async () => {
    await become(migration)
    const { stderr: refused } = await run('status')
    expect(refused).toContain('run "outlay migrate"')
    for (const lacks of [
      { age: 'alter table outlay.stop rename to later', renew: 'alter table outlay.later rename to stop' },
      {
        age: 'alter table outlay.stop rename column actor to later',
        renew: 'alter table outlay.stop rename column later to actor',
      },
      { age: 'alter schema outlay rename to later', renew: 'alter schema later rename to outlay' },
    ]) {
      await change(lacks.age)
      undo.push(lacks.renew)
      const { code, stderr } = await run('stop', '--all', '--actor', 'ann')
      expect([code, stderr.replace(/lacks .*;/s, ''), stderr.includes('outlay migrate')]).toEqual([
        1,
        expect.any(String),
        true,
      ])
      await change(undo.pop() ?? '')
    }
    expect(await holds()).toMatchObject({ stops: [] })
  })

  it('a schema that a later release has closed is refused even for a stop', async () => {
    await change(`insert into outlay.migration (name, checksum) values ('9999_closes_earlier', '')`)
    undo.push(`delete from outlay.migration where name = '9999_closes_earlier'`)
    const { stderr } = await run('stop', '--all', '--json')
    expect(JSON.parse(stderr).error.code).toBe('schema_too_new')
  })
})
