import { createEngine } from '@outlay/core'
import { memoryGateway, recordingLogger } from '@outlay/testing'
import { afterEach, expect, it, vi } from 'vitest'
import { memoryBackend } from '../test/memory-backend.ts'
import { createEngineLife } from './engine-life.ts'

afterEach(() => vi.useRealTimers())

function openLife(stop: () => Promise<void>) {
  const logger = recordingLogger()
  const engine = createEngine({ backend: memoryBackend({ stop }), gateway: memoryGateway(), runtime: { logger } })
  const discovery = { getProviders: () => [], getControllers: () => [] }
  const life = createEngineLife({ engine, name: 'default', work: { stopTimeoutMs: 1_000 }, logger, discovery })
  return { life, logger }
}

it('an engine that hangs lets the application end, with an error in the log', async () => {
  vi.useFakeTimers()
  const { life, logger } = openLife(() => new Promise(() => undefined))
  await life.onApplicationBootstrap()
  const ended = life.onModuleDestroy()
  await vi.advanceTimersByTimeAsync(21_000)
  await ended
  const fields = { error: 'it has not ended within 21000 ms' }
  expect(logger.entries).toContainEqual({ level: 'error', fields, message: 'The engine failed to stop.' })
})

it('an engine that fails to stop lets the application end, with an error in the log', async () => {
  const { life, logger } = openLife(() => Promise.reject(new Error('gone')))
  await life.onApplicationBootstrap()
  await life.onModuleDestroy()
  expect(logger.entries).toContainEqual({
    level: 'error',
    fields: { error: 'gone' },
    message: 'The engine failed to stop.',
  })
})

it('an engine that stops leaves no timer', async () => {
  vi.useFakeTimers()
  const { life, logger } = openLife(async () => undefined)
  await life.onApplicationBootstrap()
  await life.onModuleDestroy()
  expect(vi.getTimerCount()).toBe(0)
  expect(logger.entries).toEqual([])
})
