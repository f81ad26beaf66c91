import { recordingLogger, waitUntil } from '@outlay/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { type Guard, startGuard } from './guard.ts'
import type { Recognition } from './operations.ts'

const home = { database: 'app', systemIdentifier: '1', timeline: 1, deployment: null, environment: null, seenAt: 'now' }
const free: Recognition = { unfamiliar: null, fence: null, stops: [], home, news: null }

describe('the guard', () => {
  const guards: Guard[] = []
  afterEach(() => Promise.all(guards.splice(0).map((guard) => guard.stop())))
  const open = async (recognize: () => Promise<Recognition>, environment?: string) => {
    const logger = recordingLogger()
    const guard = await startGuard({ recognize, deployment: undefined, environment, logger })
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
    let state: Recognition = { ...free, unfamiliar: 'other_server' }
    const { guard, logger } = await open(() => Promise.resolve(state))
    expect([guard.mayBegin('acme'), guard.isAtHome()]).toEqual([false, false])
    const logged = () => logger.entries.map(({ message }) => message)
    expect(logged()).toEqual([expect.stringContaining('outlay adopt-database')])
    state = { ...free, fence: { since: 'now', reason: 'restored', actor: null } }
    await waitUntil(() => logged().length === 2)
    expect(logged()[1]).toContain('outlay reconcile')
    expect([guard.mayClaim(), guard.isAtHome()]).toEqual([false, false])
    state = free
    await waitUntil(() => guard.mayClaim() && guard.isAtHome())
    expect(logged()).toHaveLength(3)
  })

  it('refuses a database of another environment than the gateway, or whose gateway declares none', async () => {
    const mainnet = { ...free, home: { ...home, environment: 'mainnet' as const } }
    await expect(open(() => Promise.resolve(mainnet), 'testnet')).rejects.toMatchObject({
      code: 'environment_mismatch',
    })
    await expect(open(() => Promise.resolve(mainnet))).rejects.toThrow('belongs to mainnet')
    const { guard } = await open(() => Promise.resolve(mainnet), 'mainnet')
    expect(guard.mayBegin('acme')).toBe(true)
  })
})
