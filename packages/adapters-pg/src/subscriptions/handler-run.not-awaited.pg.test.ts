import { recordingLogger, waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

const { open, enqueue, rows } = await testHost()

it('a handler whose last statement fails behind the acknowledgement has failed, and runs again only later', async () => {
  const logger = recordingLogger()
  const engine = open({ logger })
  let runs = 0
  const write = async (tx: PoolClient) => {
    await tx.query('select 1')
    // Sent behind the acknowledgement, and before the commit.
    await tx.query('select 1 / 0')
  }
  engine.subscribe('books', ['transfer.enqueued'], async (_, tx) => {
    runs += 1
    write(tx).catch(() => undefined)
  })
  await engine.start()
  await enqueue(engine)
  await waitUntil(async () => {
    const [delivery] = await rows(`select failures from outlay.delivery where subscription = 'books'`)
    return delivery?.failures >= 1
  })
  expect(runs).toBeLessThan(20)
  expect(logger.entries.some(({ message }) => message.startsWith('A handler failed'))).toBe(true)
})
