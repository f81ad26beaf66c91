import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import knex from 'knex'
import { describe, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { knexDriver } from './knex.ts'

describe('a small pool of Knex, which lends a connection to listen on', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const open = (max: number) => {
    const db = knex({ client: 'pg', connection: database.url, pool: { min: 0, max }, acquireConnectionTimeout: 5_000 })
    return { db, engine: createEngine({ backend: postgres({ driver: knexDriver(db) }), gateway: memoryGateway() }) }
  }

  it('of one connection serves the host and the engine', async () => {
    const { db, engine } = open(1)
    try {
      await engine.start()
      const { id } = await db.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('alone')))
      await waitUntil(async () => (await engine.transfers.get(id))?.remoteId != null)
    } finally {
      await engine.stop()
      await db.destroy()
    }
  })

  it('of three keeps a connection for payouts while handlers hang', async () => {
    const { db, engine } = open(3)
    let end: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      end = resolve
    })
    let hanging = 0
    const handler = async () => {
      hanging += 1
      await gate
    }
    engine.subscribe('books', ['transfer.submitted'], handler, { timeoutMs: 600_000 })
    try {
      for (const account of ['one', 'two', 'three'])
        await db.transaction((tx) => engine.transfers.enqueue(tx, samplePayout(account)))
      await engine.start()
      await waitUntil(() => hanging > 0)
      const { id } = await db.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('well')))
      await waitUntil(async () => (await engine.transfers.get(id))?.remoteId != null)
      expect(hanging).toBe(1)
    } finally {
      end()
      await engine.stop()
      await db.destroy()
    }
  })
})
