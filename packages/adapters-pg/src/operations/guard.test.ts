import { recordingLogger, waitUntil } from '@outlay/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { type Guard, startGuard } from './guard.ts'
import type { IdentityState } from './operations.ts'

const knownDatabase = {
  database: 'app',
  systemIdentifier: '1',
  timeline: 1,
  deployment: null,
  environment: null,
  seenAt: 'now',
}
const free: IdentityState = { unfamiliar: null, fence: null, stops: [], knownDatabase, news: null }

describe('the guard', () => {
  const guards: Guard[] = []
  afterEach(() => Promise.all(guards.splice(0).map((guard) => guard.stop())))
  const open = async (checkIdentity: () => Promise<IdentityState>, environment?: string) => {
    const logger = recordingLogger()
    const guard = await startGuard({ checkIdentity, deployment: undefined, environment, logger })
    guards.push(guard)
    return { guard, logger }
  }

  it('lets nothing begin while its last read is older than a second, and goes on after the next', async () => {
    let answer: (() => void) | undefined
    let hangs = false
    const { guard } = await open(() =>
      hangs ? new Promise((resolve) => (answer = () => resolve(free))) : Promise.resolve(free),
    )
    expect([guard.mayClaim(), guard.mayBegin('acme')]).toEqual([true, true])
    expect(guard.ready()).toBeUndefined()
    hangs = true
    await waitUntil(() => !guard.mayClaim() && !guard.mayBegin('acme'))
    hangs = false
    const ready = guard.ready()
    answer?.()
    await ready
    await waitUntil(() => guard.mayBegin('acme'))
  })

  it('logs once why nothing is sent, and what to do', async () => {
    let state: IdentityState = { ...free, unfamiliar: 'other_server' }
    const { guard, logger } = await open(() => Promise.resolve(state))
    expect([guard.mayBegin('acme'), guard.isFamiliar()]).toEqual([false, false])
    const logged = () => logger.entries.map(({ message }) => message)
    expect(logged()).toEqual([expect.stringContaining('outlay adopt-database')])
    state = { ...free, fence: { since: 'now', reason: 'restored', actor: null } }
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
    expect(guard.mayBegin('acme')).toBe(true)
  })
})
