import { createEngine } from '@outlay/core'
import { drain, memoryGateway, type Postgres, recordingLogger, startPostgres, waitUntil } from '@outlay/testing'
import { type DriverSubject, noteTableSql } from '@outlay/testing/conformance'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../test/outbox.ts'
import { openTypeorm } from '../test/typeorm-subject.ts'

type Open = (url: string) => DriverSubject<unknown> | Promise<DriverSubject<unknown>>

/** Drivers whose transactions run on connections that the engine does not open itself. */
const openers: Readonly<Record<string, Open>> = {
  typeorm: openTypeorm as Open,
}

describe('restarts of Postgres and ended sessions, under handlers and a host', () => {
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
      const engine = createEngine({ backend: subject.backend, gateway, runtime: { logger: recordingLogger() } })
      engine.subscribe('notes', ['transfer.completed'], async (event, tx) => {
        await subject.insertNote(tx, event.transferId, 'complete')
      })
      await engine.start()
      let enqueued = 0
      // A host that tries each payout until it is committed, with one key.
      const host = async (name: string) => {
        for (let number = 0; number < 60; number += 1) {
          const request = samplePayout('acme', { idempotencyKey: `${name}-${number}` })
          await waitUntil(() =>
            subject
              .transaction((tx) => engine.transfers.enqueue(tx, request))
              .then(
                () => true,
                () => false,
              ),
          )
          enqueued += 1
        }
      }
      const hosts = Promise.all(['a', 'b', 'c', 'd'].map(host))
      for (const reached of [30, 90, 150, 200]) {
        await waitUntil(() => enqueued >= reached, { timeoutMs: 60_000 })
        await admin.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        )
        if (reached === 90) await server.restart({ mode: 'fast' })
        if (reached === 150) await server.restart({ mode: 'immediate' })
      }
      await hosts
      // The pool may still hold sessions that were ended.
      const backlog = await waitUntil(() => drain(engine, { timeoutMs: 60_000 }).catch(() => undefined))
      expect(backlog).toMatchObject({ settled: 240, undelivered: 0, deadLetters: 0, blocked: 0 })
      expect(gateway.transfers.size).toBe(240)
      expect((await admin.query('select count(*)::integer as notes from note')).rows).toEqual([{ notes: 240 }])
      await engine.stop()
      await subject.close()
      await admin.end()
    },
    180_000,
  )
})
