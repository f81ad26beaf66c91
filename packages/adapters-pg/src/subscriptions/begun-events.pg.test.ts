import { spawnNode } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

describe('an event whose handler ends the process', async () => {
  const { database, pool, open, enqueueMany } = await testHost({ max: 20 })
  const accounts = ['deadly', ...Array.from({ length: 10 }, (_, index) => `well-${index}`)]
  const program = new URL('../../test/deadly-handler.ts', import.meta.url)

  const left = async () => {
    const { rows } = await pool.query(
      'select account_id, failures, begun, last_error from outlay.delivery order by account_id, transfer_id',
    )
    return rows
  }

  it('is deferred longer with each process that it ends, so that all other events are handled', async () => {
    await pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.enqueued}')`)
    const host = open()
    for (const accountId of accounts) await enqueueMany(host, 5, accountId)
    expect(await left()).toHaveLength(55)
    // Its accounts come first, so without a record of what was begun no process would get beyond it.
    for (let starts = 1; starts <= 6 && (await left()).length > 5; starts += 1) {
      const worker = await spawnNode(program, { args: [database.url] }).catch(() => undefined)
      await worker?.ended
    }
    const rest = await left()
    expect(rest.map((row) => row.account_id)).toEqual(Array.from({ length: 5 }, () => 'deadly'))
    expect(rest.map((row) => row.last_error)).toContain('The process ended while it handled this event.')
  })

  it('is not confused with one that another process handles at the moment', async () => {
    await pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.enqueued}')`)
    await enqueueMany(open(), 1, 'acme')
    const [busy, starting] = [open(), open()]
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    busy.subscribe('books', ['transfer.enqueued'], async () => {
      begun.resolve()
      await gate.promise
    })
    await busy.start()
    await begun.promise
    expect(await left()).toMatchObject([{ begun: true, failures: 0 }])
    const again: string[] = []
    starting.subscribe('books', ['transfer.enqueued'], async ({ id }) => void again.push(id))
    await starting.start()
    gate.resolve()
    await busy.stop()
    expect([await left(), again]).toEqual([[], []])
  })
})
