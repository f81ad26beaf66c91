import { appendFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { applyMigrations, readMigrations } from '@outlay/adapters-pg'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { currentHostEntry, listNumbered, listReleases, migrationsOf, type Release, unpackRelease } from './release.ts'
import { setUpgradeStage } from './upgrade-stage.ts'

/** They start processes, and wait for the heartbeats of those that they kill. */
const timeout = 300_000

describe('an upgrade of the engine', { timeout }, async () => {
  const databases = await testDatabase()
  const unpacked: Release[] = []
  afterAll(async () => {
    for (const release of unpacked) await release[Symbol.asyncDispose]()
  })
  const unpack = async (version: string) => {
    const release = await unpackRelease(version)
    unpacked.push(release)
    return release
  }
  const releases = await listReleases()

  it.concurrent.for(releases)(
    'from release %s, under its working workers, loses nothing and doubles nothing',
    async (version) => {
      const release = await unpack(version)
      await using stage = await setUpgradeStage(await databases.another())
      const old = await stage.spawn(release.hostEntry, 'old', { migrate: true })
      await stage.pool.query(`insert into outlay.account (account_id, paused) values ('paused', true)`)
      await stage.enqueue(old, 3)
      await stage.reachStages()

      let migrated = false
      const migrating = stage.engine.migrate().finally(() => {
        migrated = true
      })
      // Not so many that to work them off takes longer than what this is about.
      const enqueueMeanwhile = async () => {
        do {
          await stage.enqueue(old, 2)
          await setTimeout(100)
        } while (!migrated)
      }
      await Promise.all([migrating, enqueueMeanwhile()])

      const current = await stage.spawn(currentHostEntry, 'current')
      await Promise.all([stage.enqueue(old, 10), stage.enqueue(current, 10)])
      // A machine may restart any process of the earlier release while the roll-out is under way.
      await old.stop()
      const restarted = await stage.spawn(release.hostEntry, 'restarted')
      await Promise.all([stage.enqueue(restarted, 10), stage.enqueue(current, 10)])
      await stage.reachStages()
      await current.stop()
      await stage.enqueue(restarted, 3)
      await stage.reachStages()
      await restarted.kill('SIGKILL')
      await stage.spawn(currentHostEntry, 'last')
      await stage.prove()
      const { rows } = await stage.pool.query('select distinct host from told order by host')
      expect(rows.map(({ host }) => host)).toEqual(expect.arrayContaining(['old', 'restarted', 'last']))
    },
  )

  it.concurrent.for(releases)('keeps the functions that release %s would put back', async (version) => {
    const release = await unpack(version)
    await appendFile(join(release.migrations, 'claim.sql'), '\n-- As it was once.\n')
    await using stage = await setUpgradeStage(await databases.another())
    await (await stage.spawn(release.hostEntry, 'old', { migrate: true })).stop()
    await stage.engine.migrate()
    const bodies = `select proname, prosrc from pg_proc where pronamespace = 'outlay'::regnamespace order by 1, 2`
    const current = (await stage.pool.query(bodies)).rows
    await expect(stage.spawn(release.hostEntry, 'again', { migrate: true })).rejects.toThrow(/later release/)
    expect((await stage.pool.query(bodies)).rows).toEqual(current)
    const working = await stage.spawn(release.hostEntry, 'without migrating')
    await stage.enqueue(working, 1)
    await stage.prove()
  })

  it('gives a number to every change of the functions, so that a release knows when it is behind', async () => {
    const last = releases.at(-1) ?? ''
    const { migrations } = await unpack(last)
    const read = async (folder: string) => {
      const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
      const functions = files.filter((file) => !/^\d/.test(file))
      const texts = await Promise.all(functions.map((file) => readFile(join(folder, file), 'utf8')))
      return { texts: texts.join('\n'), numbers: files.filter((file) => /^\d/.test(file)) }
    }
    const [released, current] = [await read(migrations), await read(migrationsOf('adapters-pg'))]
    const isChanged = released.texts !== current.texts
    expect(current.numbers.length).toBeGreaterThanOrEqual(released.numbers.length + (isChanged ? 1 : 0))
    expect(current.numbers).toEqual(expect.arrayContaining(released.numbers))
  })

  const first = await unpack(releases[0] ?? '')
  const released = await readdir(first.migrations)
  const added = (await listNumbered('adapters-pg')).filter((file) => !released.includes(file))
  it.concurrent.for(added.slice(0, -1))(
    'that ended after %s, with transfers in every stage, settles them once it is complete',
    async (number) => {
      const databaseUrl = await databases.another()
      await using stage = await setUpgradeStage(databaseUrl)
      const old = await stage.spawn(first.hostEntry, 'old', { migrate: true })
      await migrateUpTo(number, databaseUrl)
      await stage.pool.query(`insert into outlay.account (account_id, paused) values ('paused', true)`)
      await stage.enqueue(old, 2)
      await stage.reachStages()
      await old.kill('SIGKILL')
      const { rows } = await stage.pool.query(`select name from outlay.migration where name ~ '^[0-9]' order by name`)
      expect(`${rows.at(-1)?.name}.sql`).toBe(number)
      await stage.engine.migrate()
      const current = await stage.spawn(currentHostEntry, 'current')
      await stage.enqueue(current, 2)
      await stage.prove()
    },
  )
})

/** Runs the numbered migrations up to that file, and no more, as an upgrade does that ends there. */
async function migrateUpTo(file: string, databaseUrl: string): Promise<void> {
  const migrations = await readMigrations(pathToFileURL(`${migrationsOf('adapters-pg')}/`))
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const upTo = migrations.filter(({ name, repeatable }) => !repeatable && `${name}.sql` <= file)
  await applyMigrations(client, { schema: 'outlay', migrations: upTo })
  await client.end()
}
