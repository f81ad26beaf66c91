import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { manualClock, recordingLogger } from '@outlay/testing'
import { expect, it, onTestFinished, vi } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { sampleAccount, testContext, testSchema, testService } from '../../test/service.ts'
import type { AddressResource } from '../addresses/view.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { createSimulatedCustody } from '../rails/simulated/custody.ts'
import { createSimulatedRails } from '../rails/simulated/simulated-rails.ts'
import { createService } from '../service.ts'
import { setAccountStatus } from './accounts.ts'
import { onboardDue, startOnboarding } from './onboarding.ts'
import type { AccountReviewer, AccountSubmission } from './reviewer.ts'

const { pool } = await serviceDatabase()
const logger = recordingLogger()

const open = async (review?: AccountReviewer['review'], parts: Partial<ServiceContext> = {}) => {
  const clock = manualClock()
  const asked: AccountSubmission[] = []
  const reviewer: AccountReviewer | undefined = review && {
    review(submission, options) {
      asked.push(submission)
      return review(submission, options)
    },
  }
  const context = testContext({ pool, logger, clock, reviewer, completesAccounts: false, ...parts })
  const service = testService(context)
  const { token } = await service.signIn({ environment: 'mainnet' })
  const read = async <Body>(path: string) => (await service.call<Body>(path, { token })).json
  return {
    ...{ context, clock, service, token },
    create: (fields = {}) => service.createAccount(token, fields),
    statusOf: async (id: string) => (await read<{ status: string }>(`/accounts/${id}`)).status,
    wallets: async (id: string) =>
      (await read<{ addresses: readonly AddressResource[] }>(`/accounts/${id}/addresses`)).addresses,
    asked: (id: string) => asked.filter(({ accountId }) => accountId === id),
    decide: (id: string, status: 'complete' | 'pending' | 'rejected') =>
      inTransaction(context, (tx) => setAccountStatus(tx, context, id, status)),
  }
}
const eventsOf = async (id: string) => {
  const text = `select body from ${testSchema}.webhook_event where account_id = $1 and type = 'account.updated'`
  return (await inspect(pool).query(text, [id])).rows.map(({ body }) => JSON.parse(body).data.status)
}

it('with rails of its own and no reviewer an account is pending until a call of the service decides', async () => {
  const rails = createSimulatedRails({ pool, schema: testSchema, clock: manualClock(), logger })
  const options = { pool, schema: testSchema, encryptionKey: randomBytes(32), logger }
  const { completesAccounts } = createService({ ...options, rails }).context
  expect(createService({ ...options, rails: 'simulated' }).context.completesAccounts).toBe(true)
  const { create, statusOf, wallets, decide } = await open(undefined, { completesAccounts })
  const id = await create()
  expect(await statusOf(id)).toBe('pending')
  expect((await wallets(id)).map(({ status }) => status)).not.toContain('active')
  expect(await decide(id, 'complete')).toBe(true)
  expect(await statusOf(id)).toBe('complete')
  expect((await wallets(id)).every(({ status }) => status === 'active')).toBe(true)
})

it('the reviewer sees what was submitted, and holds no connection', async () => {
  const idle: boolean[] = []
  const { create, context, asked } = await open(
    async () => {
      idle.push(pool.idleCount === pool.totalCount)
      return 'complete'
    },
    // Nothing else is asked meanwhile.
    { custody: undefined },
  )
  const more = { business_controller: { name: 'Bo', ssn: '123-45-6789' }, tos_attestation: { ip: '203.0.113.7' } }
  const id = await create(more)
  expect(asked(id)).toEqual([])
  await onboardDue(context)
  expect(asked(id)).toEqual([{ ...sampleAccount, ...more, accountId: id, environment: 'mainnet' }])
  expect(idle).not.toContain(false)
})

it.each(['complete', 'rejected'] as const)('the verdict %s takes effect once, with an event', async (verdict) => {
  const { create, context, service, token, statusOf, wallets, asked } = await open(async () => verdict)
  const id = await create()
  await service.call(`/accounts/${id}/webhooks`, {
    token,
    key: crypto.randomUUID(),
    body: { url: 'https://host.example/hooks', event_types: ['account.updated'] },
  })
  expect(await statusOf(id)).toBe('pending')
  await Promise.all([onboardDue(context), onboardDue(context)])
  await onboardDue(context)
  expect([await statusOf(id), await eventsOf(id), asked(id).length]).toEqual([verdict, [verdict], 1])
  const active = (await wallets(id)).filter(({ status }) => status === 'active')
  expect(active.length > 0).toBe(verdict === 'complete')
})

it('the verdict pending leaves the decision to a call, and asks no more', async () => {
  const { create, context, clock, statusOf, asked, decide } = await open(async () => 'pending')
  const id = await create()
  await onboardDue(context)
  clock.advance(30 * 60_000)
  await onboardDue(context)
  expect([await statusOf(id), asked(id).length]).toEqual(['pending', 1])
  await decide(id, 'rejected')
  expect(await statusOf(id)).toBe('rejected')
})

it.each([
  ['fails', async () => Promise.reject(new Error(`No ${sampleAccount.ein}`))],
  ['answers something else', async () => 'fine' as never],
])('a reviewer that %s is asked again, and nothing of the submission is logged', async (_, review) => {
  const answers = [review, async () => 'complete' as const]
  const { create, context, clock, statusOf } = await open(() => (answers.shift() ?? review)())
  const id = await create()
  await onboardDue(context)
  await onboardDue(context)
  expect(await statusOf(id)).toBe('pending')
  clock.advance(120_000)
  await onboardDue(context)
  expect(await statusOf(id)).toBe('complete')
  expect(JSON.stringify(logger.entries)).not.toContain(sampleAccount.ein)
})

it('a reviewer that hangs gets its signal at the limit, and its late answer changes nothing', async () => {
  const late = Promise.withResolvers<'complete'>()
  onTestFinished(() => late.resolve('complete'))
  const signals: AbortSignal[] = []
  const { create, context, statusOf } = await open(
    (_, { signal }) => {
      signals.push(signal)
      return late.promise
    },
    { reviewTimeoutMs: 50 },
  )
  const id = await create()
  await onboardDue(context)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  late.resolve('complete')
  await late.promise
  expect(await statusOf(id)).toBe('pending')
})

it('a verdict that comes after a call has decided does not change the decision', async () => {
  const verdict = Promise.withResolvers<'complete'>()
  const { create, context, statusOf, asked, decide } = await open(() => verdict.promise)
  const id = await create()
  const reviewing = onboardDue(context)
  await vi.waitFor(() => expect(asked(id)).toHaveLength(1), { timeout: 60_000 })
  await decide(id, 'rejected')
  await decide(id, 'pending')
  verdict.resolve('complete')
  await reviewing
  expect(await statusOf(id)).toBe('pending')
})

it('a stop of the worker does not wait for a reviewer that hangs', async () => {
  const signals: AbortSignal[] = []
  const { create, context, asked } = await open((_, { signal }) => {
    signals.push(signal)
    return new Promise(() => {})
  })
  const id = await create()
  const worker = startOnboarding(context)
  await vi.waitFor(() => expect(asked(id)).toHaveLength(1), { timeout: 60_000 })
  await worker.stop()
  expect(signals.every(({ aborted }) => aborted)).toBe(true)
})

it('a reviewer that throws at once leaves nothing that ends the process at a stop', async () => {
  const unhandled: unknown[] = []
  const onUnhandled = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', onUnhandled)
  onTestFinished(() => {
    process.off('unhandledRejection', onUnhandled)
  })
  const { create, context, asked, statusOf } = await open(() => {
    throw new Error('No promise yet.')
  })
  const id = await create()
  const worker = startOnboarding(context)
  await vi.waitFor(() => expect(asked(id)).toHaveLength(1), { timeout: 60_000 })
  await worker.stop()
  // Node reports a rejection that nobody has handled before the next immediate.
  await setImmediate()
  expect(unhandled).toEqual([])
  expect(await statusOf(id)).toBe('pending')
})

it('accounts whose review hangs delay neither those of other clients nor wallets', async () => {
  const hangs = new Set<string>()
  const review: AccountReviewer['review'] = ({ accountId, business_name: name }) => {
    if (name !== 'Hanging') return Promise.resolve('complete')
    hangs.add(accountId)
    return new Promise(() => undefined)
  }
  const down = async () => Promise.reject(new Error('Down.'))
  const custody = { name: 'vault', provision: down as ReturnType<typeof createSimulatedCustody>['provision'] }
  const { create, context, clock, service, decide } = await open(review, { custody })
  const hanging: string[] = []
  for (let count = 0; count < 30; count += 1) hanging.push(await create({ business_name: 'Hanging' }))
  clock.advance(1)
  const other = await service.signIn({ environment: 'mainnet' })
  const honest = await service.createAccount(other.token)
  const read = async (path: string) => (await service.call<Record<string, unknown>>(path, { token: other.token })).json
  custody.provision = createSimulatedCustody().provision
  const worker = startOnboarding(context, { pollIntervalMs: 50 })
  await vi.waitFor(
    async () => {
      expect(await read(`/accounts/${honest}`)).toMatchObject({ status: 'complete' })
      expect((await read(`/accounts/${honest}/addresses`))['addresses']).toHaveLength(5)
    },
    { timeout: 60_000 },
  )
  // One client has half of the places.
  expect(hangs.size).toBe(10)
  await worker.stop()
  for (const id of hanging) await decide(id, 'rejected')
})

it('as one review ends, the next one begins, also of an account that is registered meanwhile', async () => {
  const reviews = new Map<string, (status: 'complete') => void>()
  const review: AccountReviewer['review'] = ({ accountId }) => new Promise((resolve) => reviews.set(accountId, resolve))
  const { create, context, statusOf } = await open(review, { custody: undefined })
  const slow = await create()
  const worker = startOnboarding(context, { pollIntervalMs: 20 })
  await vi.waitFor(() => expect(reviews.has(slow)).toBe(true), { timeout: 60_000 })
  const quick = await create()
  await vi.waitFor(() => expect(reviews.has(quick)).toBe(true), { timeout: 60_000 })
  reviews.get(quick)?.('complete')
  await vi.waitFor(async () => expect(await statusOf(quick)).toBe('complete'), { timeout: 60_000 })
  expect(await statusOf(slow)).toBe('pending')
  await worker.stop()
})
