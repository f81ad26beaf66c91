import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

const unreadable = new Proxy(
  {},
  {
    getPrototypeOf() {
      throw new Error('no prototype')
    },
  },
)

describe('a handler that throws what cannot be written as text', async () => {
  const { pool, open, enqueue } = await testHost({ max: 20 })

  it('has failed like any other: its event is deferred with the error, and the others are handled', async () => {
    const engine = open()
    const thrown: unknown[] = [Object.create(null), unreadable, Object.assign(new Error(), { message: Symbol('odd') })]
    const received = new Set<string>()
    engine.subscribe('books', ['transfer.completed'], async ({ accountId }) => {
      const index = ['odd-0', 'odd-1', 'odd-2'].indexOf(accountId)
      if (index >= 0) throw thrown[index]
      received.add(accountId)
    })
    for (const index of thrown.keys()) await enqueue(engine, { accountId: `odd-${index}` })
    await engine.start()
    try {
      const failed = async () =>
        Number((await pool.query('select count(*) from outlay.delivery where failures > 0')).rows[0].count)
      await waitUntil(async () => (await failed()) === thrown.length)
      await enqueue(engine, { accountId: 'good' })
      await waitUntil(() => received.has('good'))
      const { rows } = await pool.query(
        'select distinct last_error is not null as recorded from outlay.delivery where failures > 0',
      )
      expect(rows).toEqual([{ recorded: true }])
    } finally {
      await engine.stop()
    }
  })
})
