import { randomBytes } from 'node:crypto'
import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createService } from '../service.ts'
import type { Rails } from './port.ts'

describe('a service stops its engine', async () => {
  const database = await testDatabase({ role: 'ordinary' })
  const pool = new Pool({ connectionString: database.url, max: 10 })
  afterAll(() => pool.end())
  const options = { pool, encryptionKey: randomBytes(32) }
  const simulated = createService({ ...options, rails: 'simulated' })
  beforeAll(() => simulated.migrate())

  it.each<[string, Rails['stop'], string]>([
    ['hang', () => new Promise<never>(() => undefined), 'TimeoutError'],
    ['reject', () => Promise.reject(new TypeError('account 12345678')), 'TypeError'],
    [
      'throw',
      () => {
        throw new RangeError('account 12345678')
      },
      'RangeError',
    ],
  ])('when its rails %s as they are stopped', async (_, stop, error) => {
    const logger = recordingLogger()
    const rails = { ...simulated.context.rails, stop }
    const service = createService({ ...options, rails, logger })
    Object.assign(service.context, { railTimeoutMs: 50 })
    const { engine } = service.context
    await service.start()
    try {
      await service.stop()
      // A running engine would refuse that.
      await engine.start()
    } finally {
      await engine.stop()
      await simulated.context.rails.stop()
    }
    expect(logger.entries.filter(({ message }) => message.includes('rails'))).toMatchObject([
      { level: 'warn', fields: { error } },
    ])
    expect(JSON.stringify(logger.entries)).not.toContain('12345678')
    await service.stop()
  })

  it.each<[string, Rails['start']]>([
    ['hang', () => new Promise<never>(() => undefined)],
    ['fail', () => Promise.reject(new TypeError('no connection'))],
  ])('and itself when its rails %s as they are started, and may start again', async (_, start) => {
    const listeners = pool.listenerCount('error')
    const rails = { ...simulated.context.rails, start }
    const service = createService({ ...options, rails })
    Object.assign(service.context, { railTimeoutMs: 50 })
    await expect(service.start()).rejects.toThrow(/No answer within|no connection/)
    expect(pool.listenerCount('error')).toBe(listeners)
    rails.start = simulated.context.rails.start
    Object.assign(service.context, { railTimeoutMs: 10_000 })
    await service.start()
    await expect(service.start()).rejects.toThrow('already')
    await expect(service.context.engine.start()).rejects.toThrow()
    await service.stop()
  })

  it('and the delivery of webhooks, when another part fails to stop, and reports that failure', async () => {
    const listeners = pool.listenerCount('error')
    const service = createService({ ...options, rails: 'simulated' })
    const { engine } = service.context
    const failure = new Error('The engine stopped, and then this.')
    const { stop } = engine
    Object.assign(engine, { stop: () => stop().then(() => Promise.reject(failure)) })
    await service.start()
    await expect(service.stop()).rejects.toBe(failure)
    Object.assign(engine, { stop })
    expect(pool.listenerCount('error')).toBe(listeners)
    await service.stop()
  })
})
