import type { Gateway, WorkOptions } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../test/host.ts'

describe('an engine', async () => {
  const { open, enqueue } = await testHost()

  const pay = async (engine: HostEngine) => {
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'settled' })
  }
  /** A gateway that sends nothing once it is closed, and whose close rejects. */
  const closable = () => {
    const gateway = memoryGateway()
    const closes = { count: 0 }
    const own: Gateway = {
      get: (...read) => gateway.get(...read),
      submit: (...sent) => (closes.count > 0 ? Promise.reject(new Error('closed')) : gateway.submit(...sent)),
      close() {
        closes.count += 1
        return Promise.reject(new Error('not now'))
      },
    }
    return { own, closes }
  }

  it('that stops leaves the gateway to the other engines that use it, and to its own next start', async () => {
    const { own, closes } = closable()
    const [first, second] = [open({ gateway: own }), open({ gateway: own })]
    await first.start()
    await second.start()
    await first.stop()
    await pay(second)
    await second.stop()
    await first.start()
    await pay(first)
    await first.stop()
    expect(closes.count).toBe(0)
  })

  it('goes on after a start that races a stop, and is stopped by its signal', async () => {
    const engine = open({ gateway: memoryGateway() })
    const controller = new AbortController()
    const starting = engine.start()
    const stopping = engine.stop()
    const again = engine.start({ signal: controller.signal })
    await Promise.all([starting, stopping, again])
    await pay(engine)
    controller.abort()
    await engine.stop()
    await engine.start()
    await engine.stop()
  })

  it('refuses options that are no numbers by their names, and starts nothing', async () => {
    const engine = open({ gateway: memoryGateway() })
    const refused: readonly (readonly [WorkOptions, string])[] = [
      [{ concurrency: 0 }, 'concurrency is a whole number from 1 to 100000; got 0.'],
      [{ concurrency: Number.NaN }, 'concurrency'],
      [{ concurrency: '10' as unknown as number }, 'concurrency'],
      [{ pollIntervalMs: Number.NaN }, 'pollIntervalMs'],
      [{ pollIntervalMs: 0 }, 'pollIntervalMs'],
      [{ pollIntervalMs: Number.POSITIVE_INFINITY }, 'pollIntervalMs'],
      [{ subscriptionConcurrency: 0.5 }, 'subscriptionConcurrency'],
      [{ stopTimeoutMs: -1 }, 'stopTimeoutMs'],
      [{ slowAfterMs: 0 }, 'slowAfterMs'],
      [
        { retention: { archiveAfterDays: Number.NaN } },
        'retention.archiveAfterDays is a number from 0 to 36525; got NaN.',
      ],
      [{ retention: { archiveAfterDays: 40_000 } }, 'retention.archiveAfterDays'],
    ]
    for (const [options, message] of refused) await expect(engine.start(options)).rejects.toThrow(message)
    for (const batchSize of [0, 1.5, Number.NaN]) {
      expect(() => engine.subscribe('odd', ['transfer.completed'], async () => undefined, { batchSize })).toThrow(
        'batchSize',
      )
    }
    expect(() => open({ gateway: memoryGateway(), polling: { maxDelayMs: Number.NaN } })).toThrow('polling.maxDelayMs')
    expect(() => open({ gateway: memoryGateway(), timeouts: { submitMs: 0 } })).toThrow('timeouts.submitMs')
    await engine.start()
    await engine.stop()
  })
})
