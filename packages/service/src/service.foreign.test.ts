import type { Telemetry } from '@outlay/core'
import { Pool } from 'pg'
import { expect, it } from 'vitest'
import { createService } from './service.ts'

const fail = () => {
  throw new Error('of the host')
}

it('what a logger and telemetry of the host throw goes nowhere', async () => {
  const pool = new Pool()
  const rejections: unknown[] = []
  const onRejection = (error: unknown) => rejections.push(error)
  process.on('unhandledRejection', onRejection)
  const logger = { debug: fail, info: () => Promise.reject(new Error('later')), warn: fail, error: fail }
  const telemetry: Telemetry = { span: fail, current: fail, count: fail, record: fail, gauges: fail }
  const { context } = createService({ pool, rails: 'simulated', encryptionKey: new Uint8Array(32), logger, telemetry })
  expect(pool.emit('error', new Error('lost'))).toBe(true)
  for (const level of ['debug', 'info', 'warn', 'error'] as const) context.logger[level]({}, 'said')
  context.telemetry?.count({ name: 'n', kind: 'counter', attributes: [], unit: '1', description: '' }, 1, {})
  expect(await context.telemetry?.span('work', { kind: 'client', attributes: {} }, async () => 'done')).toBe('done')
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', onRejection)
  expect(rejections).toEqual([])
  await pool.end()
})
