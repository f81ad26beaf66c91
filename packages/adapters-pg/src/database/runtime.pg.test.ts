import { recordingLogger, waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

const { open, enqueue } = await testHost()

it('the logger of an engine gets the logs of its workers too, instead of that of its backend', async () => {
  const [logger, other] = [recordingLogger(), recordingLogger()]
  const engine = open({ logger: other, runtime: { logger } })
  engine.subscribe('broken', ['transfer.enqueued'], () => Promise.reject(new Error('The books are closed.')))
  await engine.start()
  await enqueue(engine)
  await waitUntil(() => logger.entries.some(({ fields }) => fields['subscription'] === 'broken'))
  await engine.stop()
  expect(other.entries).toEqual([])
})
