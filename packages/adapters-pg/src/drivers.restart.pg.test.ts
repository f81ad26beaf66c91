import { createEngine } from '@outlay/core'
import {
  drain,
  memoryGateway,
  type Postgres,
  recordingLogger,
  seededRandom,
  startPostgres,
  waitUntil,
} from '@outlay/testing'
import { type DriverSubject, noteTableSql } from '@outlay/testing/conformance'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mikroOrms, openMikroOrmSubject } from '../test/mikro-orm-subject.ts'
import { openDrizzleNeon, openNeon } from '../test/neon-subject.ts'
import { migrateOutbox, samplePayout } from '../test/outbox.ts'
import { openDrizzlePostgresJs, openPostgresJs } from '../test/postgres-js-subjects.ts'
import { openSequelizeSubject } from '../test/sequelize-subject.ts'
import { openTypeorm } from '../test/typeorm-subject.ts'

type Open = (url: string) => DriverSubject<unknown> | Promise<DriverSubject<unknown>>

/** Drivers whose transactions run on connections that the engine does not open itself. */
const openers: Readonly<Record<string, Open>> = {
  sequelize: openSequelizeSubject as Open,
  typeorm: openTypeorm as Open,
  'postgres.js': openPostgresJs as Open,
  'drizzle over postgres.js': openDrizzlePostgresJs as Open,
  neon: openNeon as Open,
  'drizzle over neon': openDrizzleNeon as Open,
  'MikroORM 6': ((url) => openMikroOrmSubject(url, mikroOrms['MikroORM 6'])) as Open,
  'MikroORM 7': openMikroOrmSubject as Open,
}

describe('restarts of Postgres and ended sessions, under handlers', () => {
  let server: Postgres
  beforeAll(async () => {
    // A separate server: this test stops it.
    server = await startPostgres({ provider: 'embedded', durable: false })
  })
  afterAll(() => server.stop())

  it.each(Object.entries(openers))(
    'lose nothing, do nothing twice, and end no process: %s',
    async (_, open) => {
      const url = await server.createDatabase()
      await migrateOutbox(url)
      const admin = new pg.Pool({ connectionString: url, max: 1 })
      admin.on('error', () => undefined)
      await admin.query(noteTableSql)
      const subject = await open(url)
      const gateway = memoryGateway()
      // Each answer takes a moment, so that every restart finds handlers at work.
      const random = seededRandom(46)
      gateway.scriptAfter(() => new Promise((done) => setTimeout(() => done(undefined), random.fraction() * 200)))
      const engine = createEngine({ backend: subject.backend, gateway, runtime: { logger: recordingLogger() } })
      engine.subscribe('notes', ['transfer.completed'], async (event, tx) => {
        await subject.insertNote(tx, event.transferId, 'complete')
      })
      const requests = Array.from({ length: 300 }, () => samplePayout('acme'))
      await subject.transaction((tx) => engine.transfers.enqueueMany(tx, requests))
      await engine.start({ concurrency: 10 })
      const notes = async () =>
        (await admin.query<{ n: number }>('select count(*)::integer as n from note')).rows[0]?.n ?? 0
      for (const reached of [20, 60, 100, 140, 180]) {
        await waitUntil(async () => (await notes()) >= reached, { timeoutMs: 60_000 })
        if (reached === 60) await server.restart({ mode: 'fast' })
        else if (reached === 140) await server.restart({ mode: 'immediate' })
        else
          await admin.query(
            'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
          )
      }
      // The pool may still hold sessions that were ended.
      const backlog = await waitUntil(() => drain(engine, { timeoutMs: 60_000 }).catch(() => undefined))
      expect(backlog).toMatchObject({ settled: 300, undelivered: 0, deadLetters: 0, blocked: 0 })
      expect(gateway.transfers.size).toBe(300)
      expect(await notes()).toBe(300)
      await engine.stop()
      await subject.close()
      await admin.end()
    },
    180_000,
  )
})
