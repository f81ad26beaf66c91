import { describe, expect, it } from 'vitest'
import type { Workers } from '../ports/work.ts'
import { createLifecycle } from './lifecycle.ts'

/** Workers that record their starts and stops, each as long as a test wants. */
function workers() {
  const log: string[] = []
  const lines: unknown[] = []
  const starting = Promise.withResolvers<void>()
  const stopping = Promise.withResolvers<void>()
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: unknown) => void lines.push(fields) }
  let count = 0
  const begin = async (): Promise<Workers> => {
    const name = String(++count)
    log.push(`begin ${name}`)
    await starting.promise
    return {
      async stop() {
        log.push(`stop ${name}`)
        await stopping.promise
        log.push(`stopped ${name}`)
      },
    }
  }
  return { log, lines, logger, begin, started: starting.resolve, stopped: stopping.resolve, failStop: stopping.reject }
}

describe('an engine', () => {
  it('starts again after a stop, once all earlier workers have ended', async () => {
    const { log, logger, begin, started, stopped } = workers()
    const lifecycle = createLifecycle()
    started()
    await lifecycle.start(begin, { logger })
    const ended = lifecycle.stop()
    const again = lifecycle.start(begin, { logger })
    await expect(lifecycle.start(begin, { logger })).rejects.toThrow('running already')
    expect(log).not.toContain('begin 2')
    stopped()
    await Promise.all([ended, again])
    expect(log).toEqual(['begin 1', 'stop 1', 'stopped 1', 'begin 2'])
    expect(lifecycle.isRunning()).toBe(true)
    await lifecycle.stop()
    expect(log.slice(4)).toEqual(['stop 2', 'stopped 2'])
  })

  it('leaves nothing running when it is stopped while it starts', async () => {
    const { log, logger, begin, started, stopped } = workers()
    const lifecycle = createLifecycle()
    const ends: string[] = []
    const running = lifecycle.start(begin, { logger, onRunning: () => () => ends.push('gauges') })
    const both = [lifecycle.stop(), lifecycle.stop()]
    started()
    stopped()
    await Promise.all([running, ...both])
    expect(log).toEqual(['begin 1', 'stop 1', 'stopped 1'])
    expect([ends, lifecycle.isRunning()]).toEqual([[], false])
  })

  it('is stopped by its signal, also while it starts, and not by the signal of an earlier start', async () => {
    const { log, logger, begin, started, stopped } = workers()
    const lifecycle = createLifecycle()
    const first = new AbortController()
    const running = lifecycle.start(begin, { logger, signal: first.signal })
    first.abort()
    started()
    stopped()
    await running
    await lifecycle.stop()
    expect(log).toEqual(['begin 1', 'stop 1', 'stopped 1'])
    const second = new AbortController()
    await lifecycle.start(begin, { logger, signal: second.signal })
    await lifecycle.stop()
    await lifecycle.start(begin, { logger })
    second.abort()
    expect(lifecycle.isRunning()).toBe(true)
  })

  it('logs a stop by a signal that fails, instead of ending the process', async () => {
    const { lines, logger, begin, started, failStop } = workers()
    const lifecycle = createLifecycle()
    const controller = new AbortController()
    started()
    await lifecycle.start(begin, { logger, signal: controller.signal })
    controller.abort()
    failStop(new Error('no database'))
    await expect(lifecycle.stop()).rejects.toThrow('no database')
    expect(lines).toEqual([{ error: 'no database' }])
  })

  it('says in which phase it is, with the loops of workers that run', async () => {
    const { logger, begin, started, stopped } = workers()
    const lifecycle = createLifecycle()
    const loops = [{ name: 'dispatch', turns: 1, turnMs: 0, hostMs: 0 }]
    const phases = [lifecycle.state().phase]
    const running = lifecycle.start(async () => ({ ...(await begin()), loops: () => loops }), { logger })
    phases.push(lifecycle.state().phase)
    started()
    await running
    expect(lifecycle.state()).toEqual({ phase: 'running', loops })
    const ended = lifecycle.stop()
    phases.push(lifecycle.state().phase)
    stopped()
    await ended
    phases.push(lifecycle.state().phase)
    expect(phases).toEqual(['stopped', 'starting', 'stopping', 'stopped'])
    await expect(lifecycle.start(() => Promise.reject(new Error('no')), { logger })).rejects.toThrow('no')
    expect(lifecycle.state().phase).toBe('stopped')
  })

  it('may start again after a start that failed, and stops for nothing', async () => {
    const { logger, begin, started, stopped } = workers()
    const lifecycle = createLifecycle()
    const failing = lifecycle.start(() => Promise.reject(new Error('not migrated')), { logger })
    const ended = lifecycle.stop()
    await expect(failing).rejects.toThrow('not migrated')
    await ended
    started()
    stopped()
    await lifecycle.start(begin, { logger })
    expect(lifecycle.isRunning()).toBe(true)
  })
})
