import { spawnNode, startFaultProxy, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { migrateHost, toEnvironment } from './host.ts'
import { openStageHost, seedClient, setStage, settleAll, startService } from './stage.ts'

const workerFile = new URL('./worker-main.ts', import.meta.url)
const enqueueFile = new URL('./enqueue-main.ts', import.meta.url)

// Each case waits for the heartbeat of a killed worker to lapse, so they run side by side, each with a database of its own.
describe('a worker killed with SIGKILL', async () => {
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase()
  const sandbox = await startService(services.url)
  afterAll(() => sandbox.stop())

  async function prepare() {
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    const proxy = await startFaultProxy({ target: sandbox.url })
    const databaseUrl = await hosts.another()
    const host = openStageHost(stage, databaseUrl, proxy.url)
    const env = toEnvironment(stage.settings(databaseUrl, proxy.url))
    const enqueue = () => host.transaction((tx) => host.engine.transfers.enqueue(tx, stage.payout()))
    const finish = async () => {
      await host.engine.start()
      const account = await settleAll(stage, host)
      await host.close()
      await stage.client.close()
      await proxy.stop()
      expect(account.host).toHaveLength(1)
      expect(account.service).toHaveLength(1)
      expect(account.service[0]).toEqual({ id: account.host[0]?.remoteId, status: 'complete' })
      expect(account.host[0]?.status).toBe('complete')
      expect(account.effects).toEqual([{ transfer_id: account.host[0]?.id, type: 'transfer.completed' }])
      return account
    }
    return { stage, proxy, databaseUrl, host, env, enqueue, finish }
  }
  const paused = (worker: { readonly messages: readonly unknown[] }, at: string) =>
    waitUntil(() => worker.messages.some((message) => (message as { at?: string }).at === at))

  it.concurrent('after its enqueue commits: the transfer goes out all the same', async () => {
    const { stage, env, finish } = await prepare()
    const dying = await spawnNode(enqueueFile, { env: { ...env, REQUEST: JSON.stringify(stage.payout()) } })
    await dying.kill('SIGKILL')
    const account = await finish()
    expect(account.host[0]?.id).toBe(dying.ready['transferId'])
  })

  it.concurrent('after the claim: another worker takes the transfer over', async () => {
    const { env, enqueue, finish } = await prepare()
    const dying = await spawnNode(workerFile, { env: { ...env, PAUSE_AT: 'claimed' } })
    await enqueue()
    await paused(dying, 'claimed')
    await dying.kill('SIGKILL')
    await finish()
  })

  it.concurrent('after the request left: it arrives late, and the next attempt is the same transfer', async () => {
    const { proxy, env, enqueue, finish } = await prepare()
    const held = proxy.faults.hold({ method: 'POST', path: /transfers$/, at: 'request', deliverLate: true })
    const dying = await spawnNode(workerFile, { env })
    await enqueue()
    await held.waitFor(1)
    await dying.kill('SIGKILL')
    held.release()
    await finish()
  })

  it.concurrent('while the answer is on its way: the next attempt gets the same answer', async () => {
    const { proxy, env, enqueue, finish } = await prepare()
    const held = proxy.faults.hold({ method: 'POST', path: /transfers$/, at: 'response' })
    const dying = await spawnNode(workerFile, { env })
    await enqueue()
    await held.waitFor(1)
    await dying.kill('SIGKILL')
    held.release()
    await finish()
  })

  it.concurrent('after the answer came and before it was settled', async () => {
    const { env, enqueue, finish } = await prepare()
    const dying = await spawnNode(workerFile, { env: { ...env, PAUSE_AT: 'answered' } })
    await enqueue()
    await paused(dying, 'answered')
    await dying.kill('SIGKILL')
    await finish()
  })

  for (const rollsBack of [true, false]) {
    const outcome = rollsBack ? 'which rolls back' : 'which the database finishes by itself'
    it.concurrent(`in the middle of settling, ${outcome}`, async () => {
      const { proxy, databaseUrl, host, env, enqueue, finish } = await prepare()
      const lock = new pg.Client(databaseUrl)
      await lock.connect()
      const held = proxy.faults.hold({ method: 'POST', path: /transfers$/, at: 'response' })
      const dying = await spawnNode(workerFile, { env })
      const transfer = await enqueue()
      await held.waitFor(1)
      // The settlement has written transfer and attempt by the time that it comes to the events.
      await lock.query('begin')
      await lock.query('lock table outlay.event in exclusive mode')
      held.release()
      const settling = await waitUntil(async () => {
        const { rows } = await host.pool.query(
          `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%settle%'`,
        )
        return rows[0] as { pid: number } | undefined
      })
      await dying.kill('SIGKILL')
      if (rollsBack) await lock.query('select pg_terminate_backend($1)', [settling.pid])
      await lock.query('rollback')
      await lock.end()
      const account = await finish()
      expect(account.host[0]?.id).toBe(transfer.id)
    })
  }
})
