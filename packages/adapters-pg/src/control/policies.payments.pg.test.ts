import type { EnqueueRequest, Policy } from '@outlay/core'
import { drain, memoryGateway } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { claimReady } from '../../test/limit-claims.ts'
import { samplePayout } from '../../test/outbox.ts'

const note = { actor: 'petra', reason: 'decided' }
const place = { streetLine1: '1 Canary Row', city: 'Austin', state: 'TX', zip: '78701' }
const bank = {
  owner: 'Ada Canary',
  name: 'Ada, salary',
  accountNumber: '98765432101234',
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
  transferTypes: ['ach_credit'],
} as const
const leg = { valueType: 'USD', transferType: 'ach_credit' } as const
const ada = { ...leg, address: bank }
const adaAgain = { ...leg, address: { ...bank, name: 'Ada, bonus', owner: 'ADA' } }
const bob = { ...leg, address: { ...bank, owner: 'Bob', accountNumber: '11112222333344' } }

const newOfAccount: Policy = { name: 'new', when: { newCounterparty: 'account' }, hold: 'a first payment' }
const newOfHost: Policy = { name: 'new-here', when: { newCounterparty: 'host' }, hold: 'a first payment' }
const alike: Policy = { name: 'alike', when: { lookalike: { days: 3 } }, hold: 'paid twice?' }

describe('a policy about earlier transfers', async () => {
  const { pool, open, commit, rows } = await testHost()
  const set = (engine: HostEngine, ...policies: Policy[]) => commit((tx) => engine.policies.set(tx, policies, note))
  const payout = (overrides: Partial<EnqueueRequest> = {}, accountId = 'acme') =>
    samplePayout(accountId, { createdBy: 'carl', ...overrides })
  const pay = (engine: HostEngine, overrides: Partial<EnqueueRequest> = {}, accountId = 'acme') =>
    commit((tx) => engine.transfers.enqueue(tx, payout(overrides, accountId)))
  const stagesOf = async (engine: HostEngine, requests: readonly EnqueueRequest[]) =>
    (await commit((tx) => engine.transfers.enqueueMany(tx, requests))).map(({ stage }) => stage)
  /** An engine with these policies whose workers have not started. */
  const prepared = async (...policies: Policy[]) => {
    const engine = open({ gateway: memoryGateway() })
    await engine.policies.prepare()
    if (policies.length > 0) await set(engine, ...policies)
    return engine
  }
  const work = async (engine: HostEngine) => {
    await engine.start()
    await drain(engine)
    await engine.stop()
  }
  /** Two transactions that are open at once, each with the same payout. */
  const begun: PoolClient[] = []
  const enqueueAtOnce = async (engine: HostEngine, ...requests: EnqueueRequest[]) => {
    const [one, other] = [await pool.connect(), await pool.connect()]
    begun.push(one, other)
    for (const tx of [one, other]) await tx.query('begin')
    const first = await engine.transfers.enqueue(one, requests[0] ?? payout())
    const second = await engine.transfers.enqueue(other, requests[1] ?? payout())
    return { one, other, first, second }
  }
  afterEach(async () => {
    for (const tx of begun.splice(0)) {
      await tx.query('rollback')
      tx.release()
    }
  })
  const whyOf = async (engine: HostEngine, id: string) =>
    (await engine.transfers.holds(id))?.holds.map(({ why }) => why)

  it('is refused until the indexes that it needs are there, which are made once', async () => {
    const engine = open()
    for (const index of ['transfer_payment', 'counterparty_payee', 'counterparty_details_payee'])
      await rows(`drop index if exists outlay.${index}`)
    for (const [policy, field] of [
      [newOfAccount, '0.when.newCounterparty'],
      [alike, '0.when.lookalike'],
    ] as const)
      await expect(set(engine, policy)).rejects.toMatchObject({ code: 'invalid_request', field })
    await engine.policies.prepare()
    await rows('drop index outlay.counterparty_payee')
    const before = await rows(`select 'outlay.transfer_payment'::regclass::oid as id`)
    await engine.policies.prepare()
    await engine.policies.prepare()
    expect(await rows(`select 'outlay.transfer_payment'::regclass::oid as id`)).toEqual(before)
    await set(engine, newOfAccount, alike)
  })

  it('holds all where the indexes are lost, and says so', async () => {
    const engine = await prepared(newOfAccount, alike)
    await rows('drop index outlay.transfer_payment')
    const { id, stage } = await pay(engine)
    expect(stage).toBe('held')
    expect(await whyOf(engine, id)).toEqual(Array(2).fill(expect.stringContaining('"outlay policies prepare"')))
    expect(await stagesOf(engine, [payout(), payout()])).toEqual(['held', 'held'])
  })

  describe('that asks whether the payee is new', () => {
    it('holds each transfer to it until one is complete, and says why', async () => {
      const engine = await prepared(newOfAccount)
      const first = await pay(engine)
      expect(first).toMatchObject({ stage: 'held', reason: 'limit' })
      expect(await whyOf(engine, first.id)).toEqual([
        'a first payment. The account has never completed a payment to this counterparty.',
      ])
      expect(await stagesOf(engine, [payout(), payout()])).toEqual(['held', 'held'])
      await commit((tx) => engine.transfers.release(tx, first.id, { ...note, hold: 'limit', policy: 'new' }))
      // It is not complete yet.
      expect(await pay(engine)).toMatchObject({ stage: 'held' })
      await work(engine)
      expect(await engine.transfers.get(first.id)).toMatchObject({ status: 'complete' })
      expect(await pay(engine)).toMatchObject({ stage: 'queued' })
      expect(await pay(engine, { destination: { ...leg, addressId: 'another' } })).toMatchObject({ stage: 'held' })
      expect(await pay(engine, {}, 'beta')).toMatchObject({ stage: 'held' })
      await set(engine, newOfHost)
      expect(await pay(engine, {}, 'beta')).toMatchObject({ stage: 'queued' })
      expect(await pay(engine, { destination: { ...leg, addressId: 'another' } }, 'beta')).toMatchObject({
        stage: 'held',
      })
    })

    it('holds those of two transactions that are open at once, a batch, and what is resubmitted', async () => {
      const engine = await prepared(newOfAccount)
      const { one, other, first, second } = await enqueueAtOnce(engine)
      for (const tx of [other, one]) await tx.query('commit')
      expect([first.stage, second.stage]).toEqual(['held', 'held'])
      const batch = await commit((tx) => engine.batches.create(tx, { accountId: 'acme' }))
      expect(await pay(engine, { batchId: batch.id })).toMatchObject({ stage: 'held' })
      await commit((tx) => engine.transfers.reject(tx, first.id, note))
      const again = await commit((tx) => engine.transfers.resubmit(tx, first.id, { createdBy: 'dora' }))
      expect(again).toMatchObject({ stage: 'held' })
    })

    it('takes all ids and details of a payee for one, and one whose money came back for none', async () => {
      const engine = await prepared()
      const paid = await pay(engine, { destination: ada })
      await pay(engine, { destination: bob }, 'beta')
      await work(engine)
      const addressId = (await engine.transfers.get(paid.id))?.request.destination.addressId ?? ''
      await set(engine, newOfAccount)
      for (const destination of [ada, adaAgain, { ...leg, addressId }])
        expect(await pay(engine, { destination }), JSON.stringify(destination)).toMatchObject({ stage: 'queued' })
      expect(await pay(engine, { destination: bob })).toMatchObject({ stage: 'held' })
      await set(engine, newOfHost)
      expect(await pay(engine, { destination: adaAgain }, 'beta')).toMatchObject({ stage: 'queued' })
      expect(await pay(engine, { destination: bob })).toMatchObject({ stage: 'queued' })
      await set(engine, newOfAccount)
      await rows(
        `insert into outlay.transfer_return (transfer_id, identity, amount, currency, code, occurred_at) values ($1, 'r', 1, 'USD', 'R01', now())`,
        [paid.id],
      )
      expect(await pay(engine, { destination: ada })).toMatchObject({ stage: 'held' })
    })

    it('refuses one where it says so, and gives a repeat what is stored', async () => {
      const engine = await prepared()
      const stored = await pay(engine, { idempotencyKey: 'invoice-1' })
      await set(engine, { name: 'no-new', when: { newCounterparty: 'account' }, refuse: 'nobody new' })
      await expect(pay(engine)).rejects.toMatchObject({
        code: 'policy_refused',
        message: expect.stringContaining('never completed'),
      })
      expect(await pay(engine, { idempotencyKey: 'invoice-1' })).toMatchObject({ id: stored.id, reused: true })
      await expect(stagesOf(engine, [payout()])).rejects.toMatchObject({ code: 'policy_refused' })
    })
  })

  describe('that asks whether it looks like another one', () => {
    it('holds the same payment, however it is spelled, also where the first was enqueued before the policy', async () => {
      const engine = await prepared()
      const first = await pay(engine)
      await set(engine, alike)
      const second = await pay(engine, { amount: { value: '12.5', currency: 'USDC' } })
      expect(second).toMatchObject({ stage: 'held' })
      expect(await whyOf(engine, second.id)).toEqual([
        `paid twice? It looks like the transfer ${first.id} of ${first.createdAt}: the account, the counterparty and the amount are the same.`,
      ])
      for (const other of [
        { amount: { value: '12.51', currency: 'USD' } },
        { destination: { ...leg, addressId: 'x' } },
      ])
        expect(await pay(engine, other)).toMatchObject({ stage: 'queued' })
      expect(await pay(engine, {}, 'beta')).toMatchObject({ stage: 'queued' })
    })

    it('goes back as far as it says, and not at what has failed or was canceled', async () => {
      const engine = await prepared(alike)
      const first = await pay(engine)
      const ago = (interval: string) =>
        rows(`update outlay.transfer set created_at = now() - $2::interval where id = $1`, [first.id, interval])
      await ago('71 hours')
      expect(await pay(engine)).toMatchObject({ stage: 'held' })
      await rows(`delete from outlay.transfer where id <> $1`, [first.id])
      await ago('73 hours')
      const second = await pay(engine)
      expect(second).toMatchObject({ stage: 'queued' })
      await commit((tx) => engine.transfers.cancel(tx, second.id, note))
      expect(await pay(engine)).toMatchObject({ stage: 'queued' })
    })

    it('holds the later ones of one call, but for repeats of a key', async () => {
      const engine = await prepared(alike)
      const requests = [payout({ idempotencyKey: 'a' }), payout({ idempotencyKey: 'a' }), payout()]
      const amount = { value: '12.5', currency: 'USDC' }
      expect(
        await stagesOf(engine, [...requests, payout({ destination: ada, amount }), payout({ destination: adaAgain })]),
      ).toEqual([...['queued', 'queued', 'held', 'queued', 'held']])
      await work(engine)
      const { transfers } = await engine.transfers.find({ status: 'complete' })
      expect(transfers).toHaveLength(2)
    })

    it('does not take a resubmission for the one that it corrects, nor a repeat for its own', async () => {
      const engine = await prepared(alike)
      const first = await pay(engine, { idempotencyKey: 'invoice-1' })
      expect(await pay(engine, { idempotencyKey: 'invoice-1' })).toMatchObject({
        id: first.id,
        reused: true,
        stage: 'queued',
      })
      await commit((tx) => engine.transfers.cancel(tx, first.id, note))
      const again = await commit((tx) => engine.transfers.resubmit(tx, first.id, { createdBy: 'dora' }))
      expect(again).toMatchObject({ stage: 'queued' })
      // Also where the service says later that it was paid after all.
      await rows(`update outlay.transfer set status = 'complete' where id = $1`, [first.id])
      await work(engine)
      expect(await engine.transfers.get(again.id)).toMatchObject({ status: 'complete' })
    })

    it('holds before it is sent what its enqueue could not see, of two transactions that were open at once', async () => {
      const engine = await prepared(alike)
      const { one, other, first, second } = await enqueueAtOnce(engine)
      expect([first.stage, second.stage]).toEqual(['queued', 'queued'])
      await other.query('commit')
      await work(engine)
      // The later one was sent first, so the earlier one is held.
      expect(await engine.transfers.get(second.id)).toMatchObject({ status: 'complete' })
      await one.query('commit')
      await work(engine)
      expect(await engine.transfers.get(first.id)).toMatchObject({ stage: 'held', reason: 'limit', status: 'pending' })
      expect(await whyOf(engine, first.id)).toEqual([expect.stringContaining(`the transfer ${second.id} of`)])
      await commit((tx) => engine.transfers.release(tx, first.id, { ...note, hold: 'limit', policy: 'alike' }))
      await work(engine)
      expect(await engine.transfers.get(first.id)).toMatchObject({ status: 'complete' })
      expect(await rows('select from outlay.payment_watch')).toEqual([])
    })

    it('holds the later one where both wait, and asks for what its policy asks for', async () => {
      const engine = await prepared({ name: 'alike', when: { lookalike: {} }, approvals: [{ roles: ['finance'] }] })
      const { one, other, first, second } = await enqueueAtOnce(engine)
      for (const tx of [other, one]) await tx.query('commit')
      await work(engine)
      expect(await engine.transfers.get(first.id)).toMatchObject({ status: 'complete' })
      expect(await engine.transfers.get(second.id)).toMatchObject({ stage: 'held', reason: 'approval' })
      const approve = (actor: string) =>
        commit((tx) => engine.transfers.approve(tx, second.id, { actor, roles: ['finance'] }))
      await expect(approve('carl')).rejects.toMatchObject({ code: 'approval_refused' })
      expect(await approve('anna')).toMatchObject({ released: true })
    })

    it('takes the turn of a claim that compares the same payment, and waits for none', async () => {
      const engine = await prepared(alike)
      const { one, other, first, second } = await enqueueAtOnce(engine)
      await one.query('commit')
      await one.query('begin')
      expect(await claimReady(one)).toEqual([first.id])
      // The claim of the first has not committed when the second one is there.
      await other.query('commit')
      expect(await claimReady(other)).toEqual([])
      expect(await engine.transfers.get(second.id)).toMatchObject({ stage: 'queued' })
      expect(
        await rows('select due_at > now() as later from outlay.outbox where id = outlay.job_id($1)', [second.id]),
      ).toEqual([{ later: true }])
      await one.query('commit')
      const [held] = await rows(
        `select held, busy from outlay.hold_lookalikes(array[$1], array[outlay.job_id($1)], '{}')`,
        [second.id],
      )
      expect(held).toEqual({ held: [second.id], busy: [] })
      expect(await engine.transfers.get(second.id)).toMatchObject({ stage: 'held' })
    })

    it('takes turns by the details of a payee that is not known by more, and has another address at another gateway', async () => {
      const gateways = { default: memoryGateway(), second: memoryGateway() }
      const engine = open({ gateways, route: ({ note: name }) => name ?? 'default' })
      await engine.policies.prepare()
      await set(engine, alike)
      const requests = ['default', 'second'].map((name) => payout({ destination: ada, note: name }))
      const at = await enqueueAtOnce(engine, ...requests)
      const registerAs = async (id: string, addressId: string) => {
        await rows(
          `with gone as (delete from outlay.counterparty_details where transfer_id = $1 returning account_id, fingerprint)
           insert into outlay.counterparty (account_id, fingerprint, idempotency_key, address_id)
           select g.account_id, g.fingerprint, $2, $2 from gone g`,
          [id, addressId],
        )
        await rows(
          `update outlay.transfer set request = jsonb_set(request, '{destination,addressId}', to_jsonb($2::text)) where id = $1`,
          [id, addressId],
        )
      }
      const compare = async (tx: PoolClient, id: string) => {
        const text = `select held, busy from outlay.hold_lookalikes(array[$1], array[outlay.job_id($1)], '{}')`
        return (await tx.query(text, [id])).rows
      }
      await at.other.query('commit')
      await registerAs(at.second.id, 'ada-at-second')
      await at.other.query('begin')
      expect(await compare(at.other, at.second.id)).toEqual([{ held: [], busy: [] }])
      await at.other.query(`update outlay.transfer set stage = 'submitting', attempt = 1 where id = $1`, [at.second.id])
      await at.other.query('select outlay.end_watches(array[$1])', [at.second.id])
      await at.one.query('commit')
      await registerAs(at.first.id, 'ada-at-default')
      await at.one.query('begin')
      expect(await compare(at.one, at.first.id)).toEqual([{ held: [], busy: [at.first.id] }])
      await at.other.query('commit')
      expect(await compare(at.one, at.first.id)).toEqual([{ held: [at.first.id], busy: [] }])
    })

    it('is compared once its counterparty is registered, and not again when it has left', async () => {
      const engine = await prepared(alike)
      const { one, other, first, second } = await enqueueAtOnce(
        engine,
        payout({ destination: ada }),
        payout({ destination: adaAgain }),
      )
      for (const tx of [one, other]) await tx.query('commit')
      await work(engine)
      const stages = [first, second].map(async ({ id }) => (await engine.transfers.get(id))?.stage)
      expect((await Promise.all(stages)).sort()).toEqual(['held', 'settled'])
      expect(await rows('select from outlay.payment_watch')).toEqual([])
    })
  })
})
