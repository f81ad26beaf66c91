import { randomBytes } from 'node:crypto'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Rails } from './rails/port.ts'
import { createService } from './service.ts'

describe('a service', async () => {
  const database = await testDatabase({ role: 'ordinary' })
  const pool = new Pool({ connectionString: database.url, max: 10 })
  afterAll(() => pool.end())
  const options = { pool, encryptionKey: randomBytes(32) }
  const first = createService({ ...options, rails: 'simulated' })
  beforeAll(() => first.migrate())

  /** A service on rails that write down their starts and stops. */
  function recorded() {
    const log: string[] = []
    const { rails: simulated } = first.context
    const rails: Rails = {
      ...simulated,
      async start(...listeners) {
        log.push('start')
        await simulated.start(...listeners)
      },
      async stop() {
        await simulated.stop()
        log.push('stop')
      },
    }
    const service = createService({ ...options, rails })
    const { engine } = service.context
    return { service, log, phase: () => engine.workers().phase }
  }

  it('that is stopped while it starts has nothing running afterwards, and starts again', async () => {
    const { service, log, phase } = recorded()
    const started = service.start().catch((error: unknown) => error)
    await service.stop()
    expect(phase()).toBe('stopped')
    expect(await started).toMatchObject({ code: 'aborted' })
    expect([phase(), service.context.isRunning?.()]).toEqual(['stopped', false])
    await service.start()
    expect([phase(), service.context.isRunning?.()]).toEqual(['running', true])
    await service.stop()
    expect(log.at(-1)).toBe('stop')
  })

  it('has stopped for every caller of a stop, and starts once that has ended', async () => {
    const { service, log, phase } = recorded()
    await service.start()
    void service.stop()
    await service.stop()
    expect([phase(), log]).toEqual(['stopped', ['start', 'stop']])
    await service.start()
    void service.stop()
    await service.start()
    expect([phase(), log.slice(2)]).toEqual(['running', ['start', 'stop', 'start']])
    await service.stop()
  })

  it('whose last part does not start has nothing running, and no listener on the pool', async () => {
    const { service, log, phase } = recorded()
    const listeners = pool.listenerCount('error')
    const move = (from: string, to: string) => pool.query(`alter schema ${from} rename to ${to}`)
    await move('outlay_service_jobs', 'elsewhere')
    await expect(service.start()).rejects.toThrow()
    expect([phase(), log, pool.listenerCount('error')]).toEqual(['stopped', ['start', 'stop'], listeners])
    await move('elsewhere', 'outlay_service_jobs')
    await service.start()
    await service.stop()
    expect(pool.listenerCount('error')).toBe(listeners)
  })
})
