import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { inspect } from './inspection.ts'

const { driver, open, enqueue } = await testHost()

it('a worker that has claimed several times counts as one', async () => {
  const engine = open()
  await engine.start()
  for (let number = 0; number < 5; number += 1) {
    const { id } = await enqueue(engine)
    await waitUntil(async () => (await engine.transfers.get(id))?.remoteId != null)
  }
  const inspection = inspect({ driver })
  const { workers } = await inspection.place()
  const { names } = (await inspection.health()).workers
  expect({ claiming: workers.claiming, names: names.length }).toEqual({ claiming: 1, names: 1 })
})
