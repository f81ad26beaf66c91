import { manualClock, silentLogger } from '@outlay/testing'
import type { Pool } from 'pg'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../../test/database.ts'
import { testSchema } from '../../../test/service.ts'
import { askFor } from '../../database/asking-client.ts'
import { withinShare } from '../../database/pool-share.ts'
import type { RailInstruction } from '../port.ts'
import { createSimulatedRails } from './simulated-rails.ts'

const { open } = await serviceDatabase()
const pools = { lost: open(2), shared: open(2), canceling: open(2) }

const simulatedOn = (pool: Pool) =>
  createSimulatedRails({ pool, schema: testSchema, clock: manualClock(), logger: silentLogger })
const instruct = (transferId: string): RailInstruction => ({
  transferId,
  accountId: 'account',
  flow: 'onramp',
  amount: { value: '9', currency: 'USD' },
  statementName: 'Acme',
  source: { valueType: 'USD', transferType: 'wire', custodial: false, address: '' },
  destination: { addressId: 'wallet', valueType: 'USDC', transferType: 'base', custodial: true, address: '0x1' },
})
const beneficiary = { name: 'Acme', address: '1 Main St' }
const { signal } = new AbortController()

it('a connection that was lost while numbers were reserved ends the calls that waited for it, and no later one', async () => {
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  let isLost = true
  const pool = new Proxy(pools.lost, {
    get(target, name) {
      const member = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (name !== 'connect' || !isLost) return member.bind(target)
      return (done?: (error: Error) => void) => (done === undefined ? Promise.reject(lost) : done(lost))
    },
  })
  const rails = simulatedOn(pool)
  const ask = (transferId: string) => rails.wireInstructions(instruct(transferId), beneficiary, { signal })
  const down = await Promise.allSettled([ask('lost-1'), ask('lost-2')])
  expect(down.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  isLost = false
  const [one, two] = [await ask('lost-1'), await ask('lost-2')]
  expect(one.accountNumber).not.toBe(two.accountNumber)
})

it.each([
  ['wireInstructions', pools.shared],
  ['cancel', pools.canceling],
] as const)('%s takes of the share of the client that asks, and of no share where none does', async (member, pool) => {
  const rails = simulatedOn(pool)
  const call = (options: { readonly signal: AbortSignal }): Promise<unknown> =>
    member === 'cancel'
      ? rails.cancel('share', options)
      : rails.wireInstructions(instruct('share'), beneficiary, options)
  const end = Promise.withResolvers<void>()
  // The only place of the client.
  const held = withinShare({ pool }, 'client', { limitMs: 60_000 }, () => end.promise)
  await expect(call({ signal })).resolves.toBeDefined()
  await expect(askFor('other', () => call({ signal }))).resolves.toBeDefined()
  await expect(askFor(undefined, () => call({ signal }))).resolves.toBeDefined()
  const leaving = new AbortController()
  const left = askFor('client', () => call({ signal: leaving.signal }))
  const waiting = askFor('client', () => call({ signal }))
  leaving.abort()
  await expect(left).rejects.toMatchObject({ code: 'aborted' })
  end.resolve()
  await held
  await expect(waiting).resolves.toBeDefined()
})
