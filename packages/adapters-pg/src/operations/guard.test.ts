import { setTimeout } from 'node:timers/promises'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { type Guard, startGuard } from './guard.ts'
import type { CheckIdentity, IdentityState } from './operations.ts'

const knownDatabase = {
  database: 'app',
  systemIdentifier: '1',
  timeline: 1,
  deployment: null,
  environment: null,
  seenAt: 'now',
}
const free: IdentityState = { unfamiliar: null, fence: null, stops: [], knownDatabase, news: null }

const acme = { gateway: 'default', accountId: 'acme' }

describe('the guard', () => {
  const guards: Guard[] = []
  afterEach(() => Promise.all(guards.splice(0).map((guard) => guard.stop())))
  const open = async (checkIdentity: CheckIdentity, environment?: string) => {
    const logger = recordingLogger()
    const guard = await startGuard({ checkIdentity, deployment: undefined, environment, gateways: ['default'], logger })
    guards.push(guard)
    return { guard, logger }
  }

  it('lets nothing begin while its last read is older than a second, and goes on after the next', async () => {
    let answer: (() => void) | undefined
    let hangs = false
    const { guard } = await open(() =>
      hangs ? new Promise((resolve) => (answer = () => resolve(free))) : Promise.resolve(free),
    )
    expect([guard.mayClaim(), guard.mayBegin(acme)]).toEqual([true, true])
    expect(guard.ready()).toBeUndefined()
    hangs = true
    await waitUntil(() => !guard.mayClaim() && !guard.mayBegin(acme))
    hangs = false
    const ready = guard.ready()
    answer?.()
    await ready
    await waitUntil(() => guard.mayBegin(acme))
  })

  it('counts a read from when it has a connection, and lets others wait behind it for one', async () => {
    let waitsMs = 0
    let waiting = 0
    let most = 0
    let answered = 0
    const { guard } = await open(async (_deployment, _environment, _seenAt, onSent) => {
      waiting += 1
      most = Math.max(most, waiting)
      await setTimeout(waitsMs)
      onSent()
      waiting -= 1
      answered += 1
      return free
    })
    waitsMs = 1_500
    answered = 0
    await waitUntil(() => answered > 0 && most > 1)
    await waitUntil(() => guard.mayBegin(acme))
    await waitUntil(() => answered > 10)
    expect(most).toBeLessThanOrEqual(8)
  })

  it('does not believe an answer that was sent before another one it has', async () => {
    const stopped: IdentityState = { ...free, unfamiliar: 'other_server' }
    const asked: { readonly send: () => void; readonly answer: (state: IdentityState) => void }[] = []
    let isSlow = false
    const { logger } = await open((_deployment, _environment, _seenAt, send) => {
      if (isSlow) return new Promise((answer) => asked.push({ send, answer }))
      send()
      return Promise.resolve(free)
    })
    isSlow = true
    await waitUntil(() => asked.length > 1)
    const [first, second] = asked
    first?.send()
    second?.send()
    second?.answer(stopped)
    await waitUntil(() => logger.entries.length === 1)
    first?.answer(free)
    await setTimeout(10)
    expect(logger.entries.map(({ message }) => message)).toEqual([expect.stringContaining('outlay adopt-database')])
    isSlow = false
    for (const { answer } of asked) answer(stopped)
  })

  it('logs once why nothing is sent, and what to do', async () => {
    let state: IdentityState = { ...free, unfamiliar: 'other_server' }
    const { guard, logger } = await open(() => Promise.resolve(state))
    expect([guard.mayBegin(acme), guard.isFamiliar()]).toEqual([false, false])
    const logged = () => logger.entries.map(({ message }) => message)
    expect(logged()).toEqual([expect.stringContaining('outlay adopt-database')])
    state = { ...free, fence: { id: 'one', since: 'now', reason: 'restored', actor: null } }
    await waitUntil(() => logged().length === 2)
    expect(logged()[1]).toContain('outlay reconcile')
    expect([guard.mayClaim(), guard.isFamiliar()]).toEqual([false, false])
    state = free
    await waitUntil(() => guard.mayClaim() && guard.isFamiliar())
    expect(logged()).toHaveLength(3)
  })

  it('refuses a database of another environment than the gateway, or whose gateway declares none', async () => {
    const mainnet = { ...free, knownDatabase: { ...knownDatabase, environment: 'mainnet' as const } }
    await expect(open(() => Promise.resolve(mainnet), 'testnet')).rejects.toMatchObject({
      code: 'environment_mismatch',
    })
    await expect(open(() => Promise.resolve(mainnet))).rejects.toThrow('belongs to mainnet')
    const { guard } = await open(() => Promise.resolve(mainnet), 'mainnet')
    expect(guard.mayBegin(acme)).toBe(true)
  })
})
