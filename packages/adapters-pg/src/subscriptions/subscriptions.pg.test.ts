import { drain, recordingLogger, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

describe('a subscription', async () => {
  const { pool, open, enqueueMany } = await testHost({ max: 40 })

  beforeAll(async () => {
    await pool.query(
      'create table effect (transfer_id text references outlay.transfer (id), type text, at timestamptz default clock_timestamp())',
    )
  })

  const effects = async () =>
    (await pool.query('select transfer_id, count(*)::integer as count from effect group by transfer_id')).rows

  const write = async (event: { readonly transferId: string; readonly type: string }, tx: pg.PoolClient) => {
    await tx.query('insert into effect (transfer_id, type) values ($1, $2)', [event.transferId, event.type])
  }

  it('gets each event once in effect, however often its handler fails halfway', async () => {
    const engine = open()
    const seen = new Map<string, number>()
    engine.subscribe('write', ['transfer.completed'], async (event, tx) => {
      await write(event, tx)
      seen.set(event.transferId, (seen.get(event.transferId) ?? 0) + 1)
      if (seen.get(event.transferId) === 1 && event.transferId.endsWith('0')) throw new Error('once')
    })
    await engine.start()
    await enqueueMany(engine, 100)
    await drain(engine)
    const rows = await effects()
    expect(rows).toHaveLength(100)
    expect(rows.every((row) => row.count === 1)).toBe(true)
  })

  it('rolls a failed batch back as a whole, then defers only the event that fails', async () => {
    const logger = recordingLogger()
    const engine = open({ logger })
    let poison = ''
    engine.subscribe(
      'batch',
      ['transfer.completed'],
      async (event, tx) => {
        await write(event, tx)
        if (event.transferId === poison) throw new Error('poison')
      },
      { batchSize: 20 },
    )
    const transfers = await enqueueMany(engine, 60)
    poison = transfers[30]?.id ?? ''
    await engine.start()
    await waitUntil(async () => (await effects()).length === 59)
    const left = await waitUntil(async () => {
      const { rows } = await pool.query('select transfer_id, last_error from outlay.delivery where failures > 0')
      return rows[0]
    })
    expect(left).toMatchObject({ transfer_id: poison, last_error: 'Error: poison' })
    expect((await effects()).every((row) => row.count === 1)).toBe(true)
  })

  it('gets the events of one transfer in their order, also after a failure', async () => {
    const engine = open()
    const order: string[] = []
    let failed = false
    engine.subscribe('order', ['transfer.enqueued', 'transfer.submitted', 'transfer.completed'], async (event) => {
      if (event.type === 'transfer.enqueued' && !failed) {
        failed = true
        throw new Error('not yet')
      }
      order.push(`${event.sequence} ${event.type}`)
    })
    await engine.start()
    await enqueueMany(engine, 1)
    await drain(engine)
    expect(order).toEqual(['1 transfer.enqueued', '2 transfer.submitted', '3 transfer.completed'])
  })

  it('is shared by several processes: each event goes to one of them', async () => {
    const engines = [open(), open(), open()]
    for (const engine of engines) {
      engine.subscribe('shared', ['transfer.completed'], write)
      await engine.start()
    }
    await enqueueMany(engines[0] ?? open(), 200)
    await drain(engines[0] ?? open())
    const rows = await effects()
    expect(rows).toHaveLength(200)
    expect(rows.every((row) => row.count === 1)).toBe(true)
  })

  it('keeps an event that fails too often as a dead letter, which defers later events of that transfer only', async () => {
    const engine = open()
    const order: string[] = []
    engine.subscribe('dead', ['transfer.enqueued', 'transfer.completed'], async (event) => {
      if (event.type === 'transfer.enqueued' && event.transferId === bad) throw new Error('never')
      order.push(event.transferId)
    })
    let bad = ''
    await engine.start()
    await engine.stop()
    const transfers = await enqueueMany(engine, 2)
    bad = transfers[0]?.id ?? ''
    await pool.query('update outlay.delivery set failures = 39 where transfer_id = $1', [bad])
    const again = open()
    again.subscribe('dead', ['transfer.enqueued', 'transfer.completed'], async (event) => {
      if (event.type === 'transfer.enqueued' && event.transferId === bad) throw new Error('never')
      order.push(event.transferId)
    })
    await again.start()
    await waitUntil(async () => (await again.backlog()).deadLetters === 1)
    await drain(again, { until: (backlog) => backlog.settled === 2 && backlog.undelivered === 1 })
    expect(order).toEqual([transfers[1]?.id, transfers[1]?.id])
  })

  it('sees the transfer as it was when the event was recorded', async () => {
    const engine = open()
    const stages: string[] = []
    engine.subscribe('snapshot', ['transfer.enqueued', 'transfer.completed'], async (event) => {
      stages.push(`${event.transfer.stage} ${event.transfer.status}`)
    })
    await engine.start()
    await enqueueMany(engine, 1)
    await drain(engine)
    expect(stages).toEqual(['queued pending', 'settled complete'])
  })

  it('is refused after the start and under a name in use', async () => {
    const engine = open()
    engine.subscribe('one', ['transfer.completed'], write)
    expect(() => engine.subscribe('one', ['transfer.failed'], write)).toThrow(/unique/)
    await engine.start()
    expect(() => engine.subscribe('two', ['transfer.failed'], write)).toThrow(/before start/)
  })
})
