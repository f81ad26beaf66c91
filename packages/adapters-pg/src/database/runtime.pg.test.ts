import { createEngine } from '@outlay/core'
import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const pool = new pg.Pool({ connectionString: database.url })
afterAll(() => pool.end())

it('the logger of an engine gets the logs of its workers too, instead of that of its backend', async () => {
  const [logger, other] = [recordingLogger(), recordingLogger()]
  const driver = pgDriver(pool)
  const backend = postgres({ driver, logger: other })
  const engine = createEngine({ backend, gateway: memoryGateway(), runtime: { logger } })
  engine.subscribe('broken', ['transfer.enqueued'], () => Promise.reject(new Error('The books are closed.')))
  await engine.start()
  await driver.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
  await waitUntil(() => logger.entries.some(({ fields }) => fields['subscription'] === 'broken'))
  await engine.stop()
  expect(other.entries).toEqual([])
})
