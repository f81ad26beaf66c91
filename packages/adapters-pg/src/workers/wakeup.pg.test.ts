import { once } from 'node:events'
import { silentLogger } from '@outlay/testing'
import { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { pgDriver } from '../drivers/pg.ts'
import { startWakeup } from './wakeup.ts'

describe('a wake-up', async () => {
  const { pool, open, commit } = await testHost()

  /** What `act` wakes: one answer for each notification, true where a transfer in the outbox is all that is new. */
  async function wokenBy(act: () => Promise<unknown>): Promise<readonly boolean[]> {
    const woken: boolean[] = []
    const watch = new Client(pool.options)
    await watch.connect()
    await watch.query('listen outlay_wake')
    let opened: () => void = () => undefined
    const isOpen = new Promise<void>((resolve) => {
      opened = resolve
    })
    let received: () => void = () => undefined
    const isReceived = new Promise<void>((resolve) => {
      received = resolve
    })
    const wakeup = startWakeup({
      driver: pgDriver(pool),
      channel: 'outlay_wake',
      logger: silentLogger,
      onWake(isOutboxAlone) {
        woken.push(isOutboxAlone)
        if (woken.length === 1) opened()
        else received()
      },
    })
    await isOpen
    const notified = once(watch, 'notification')
    await act()
    await notified
    await isReceived
    await wakeup.stop()
    await watch.end()
    return woken.slice(1)
  }
  const enqueue = () => {
    const engine = open()
    return commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
  }

  it('is of the outbox alone for a transfer whose enqueue no subscription wants', async () => {
    expect(await wokenBy(enqueue)).toEqual([true])
  })

  it('is of everything for a transfer whose enqueue a subscription wants', async () => {
    await pool.query(`insert into outlay.subscription (name, types) values ('audit', '{transfer.enqueued}')`)
    expect(await wokenBy(enqueue)).toEqual([false])
  })

  it('is of everything for what operators do, and for what other code sends', async () => {
    expect(await wokenBy(() => pool.query('notify outlay_wake'))).toEqual([false])
  })
})
