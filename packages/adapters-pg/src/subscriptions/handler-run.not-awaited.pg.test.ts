import { recordingLogger, waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import type { Driver } from '../database/driver.ts'

const { driver, pool, open, enqueue, enqueueMany, rows } = await testHost()

/** A library that says nothing of a commit that Postgres answers with a rollback, as most of them do. */
const silent: Driver<PoolClient> = {
  ...driver,
  async transaction(work) {
    const client = await pool.connect()
    try {
      await client.query('begin')
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback')
      throw error
    } finally {
      client.release()
    }
  },
}

const write = async (tx: PoolClient) => {
  await tx.query('select 1')
  // Sent behind the acknowledgement, and before the commit.
  await tx.query('select 1 / 0')
}

it.each([
  ['node-postgres', driver],
  ['a library that says nothing of it', silent],
])('a handler whose last statement fails behind the acknowledgement has failed: %s', async (_, on) => {
  const logger = recordingLogger()
  const engine = open({ logger, driver: on })
  const others = new Set<string>()
  let runs = 0
  engine.subscribe(
    'books',
    ['transfer.enqueued'],
    async ({ accountId, transferId }, tx) => {
      if (accountId !== 'bad') return void others.add(transferId)
      runs += 1
      write(tx).catch(() => undefined)
    },
    { batchSize: 5 },
  )
  await engine.start()
  await enqueue(engine, { accountId: 'bad' })
  await enqueueMany(engine, 4)
  await waitUntil(async () => {
    const left = await rows(`select account_id, failures from outlay.delivery where subscription = 'books'`)
    return left.length === 1 && left[0]?.account_id === 'bad' && left[0].failures >= 2
  })
  expect(others.size).toBe(4)
  expect(runs).toBeLessThan(40)
  expect(logger.entries.some(({ message }) => message.startsWith('A handler failed'))).toBe(true)
})
