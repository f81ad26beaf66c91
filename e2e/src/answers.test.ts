import type { Credentials } from '@outlay/http-client'
import { deposit, inTransaction, registerClient } from '@outlay/service'
import { drain, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { startRewritingProxy } from './rewriting-proxy.ts'
import { creates, openScene, type Scene, type SceneOptions } from './scene.ts'
import { testSite } from './site.ts'
import { seedClient, setStage, settleAll } from './stage.ts'

/** What the engine sends for a key of the host. */
const sentKeyOf = async ({ host, stage }: Scene, key: string): Promise<string> => {
  const text = 'select outlay.submission_key($1, $2, $3) as key'
  return (await host.pool.query<{ key: string }>(text, ['transfer', stage.accountId, key])).rows[0]?.key ?? ''
}

const keysOf = (scene: Scene) => [...new Set(scene.creates.map(({ key }) => key))]
const account = (amount: string) => ({
  name: 'Acme',
  accounts: [{ businessName: 'Acme', funds: [{ valueType: 'USDC', transferType: 'base', amount }] }],
})

// Each row of the table "the service answered, the engine does" is a chapter. Cases run in parallel, each with its own host,
// account and proxy, against one real service.
describe('when the service answers', async () => {
  const { hosts, services, sandbox } = await testSite()
  const open = async (options?: SceneOptions) => openScene(sandbox, await hosts.another(), options)

  describe('201', () => {
    it.concurrent('with the full object: it is submitted and polled to its end', async () => {
      await using scene = await open()
      const { id } = await scene.enqueue()
      await scene.host.engine.start()
      const submitted = await scene.arrive(id)
      expect(submitted).toMatchObject({ attempt: 1, reason: null, remoteId: expect.stringMatching(/^\w{26}$/) })
      expect(await scene.cancel(id)).toBe(false)
      await scene.proveOne()
      expect(await scene.outcomes(id)).toEqual(['accepted'])
      expect(await scene.cancel(id)).toBe(false)
    })

    it.concurrent('with {id} only: the same', async () => {
      await using terse = await startRewritingProxy(sandbox.url, (body) => JSON.stringify({ id: JSON.parse(body).id }))
      await using scene = await open({ target: terse.url })
      const { id } = await scene.enqueue()
      await scene.host.engine.start()
      await scene.arrive(id)
      await scene.proveOne()
      expect(await scene.outcomes(id)).toEqual(['accepted'])
    })
  })

  describe('401 once', () => {
    it.concurrent('the token is fetched once for all that wait for it, and the same keys are sent again', async () => {
      await using scene = await open()
      const { host, stage, creates } = scene
      await host.engine.start()
      const first = await scene.enqueue()
      await scene.arrive(first.id)
      const before = scene.tokenRequests()
      const { clientId, clientSecret } = stage.settings('', '')
      const form = { client_id: clientId, client_secret: clientSecret, token: creates[0]?.token ?? '' }
      const revoked = await fetch(`${sandbox.url}/oauth2/revoke`, { method: 'POST', body: new URLSearchParams(form) })
      expect(revoked.status).toBe(200)

      const payouts = Array.from({ length: 20 }, () => stage.payout())
      await host.transaction((tx) => host.engine.transfers.enqueueMany(tx, payouts))
      const { host: stored, service } = await settleAll(stage, host)
      expect(service.map(({ id }) => id).toSorted()).toEqual(stored.map(({ remoteId }) => remoteId).toSorted())
      expect(service).toHaveLength(21)
      expect(scene.tokenRequests()).toBe(before + 1)
      // Those that got the 401 were sent twice with one key; neither the engine nor the service saw a second transfer.
      expect(creates.length).toBeGreaterThan(21)
      expect(keysOf(scene)).toHaveLength(21)
      for (const { id } of stored) expect(await scene.outcomes(id)).toEqual(['accepted'])
      expect(scene.news).toEqual([])
    })
  })

  describe('still 401, or 403', () => {
    /** Two accounts of one host, `bad` with credentials that are refused; `renew` puts good ones in the vault. */
    async function openTwo(refuse: (scene: Scene, good: Credentials) => Promise<Credentials>) {
      const vault = new Map<string, Credentials>()
      const read = (accountId: string) => vault.get(accountId) ?? { clientId: 'nobody', clientSecret: 'nothing' }
      const scene = await open({ credentials: read })
      const other = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
      const [bad, good] = [scene.stage.settings('', ''), other.settings('', '')]
      vault.set(other.accountId, good)
      vault.set(scene.stage.accountId, await refuse(scene, bad))
      return { scene, other, bad: scene.stage.accountId, renew: () => vault.set(scene.stage.accountId, bad) }
    }

    it.concurrent.each([
      [
        'a wrong secret',
        async (_: Scene, good: Credentials) => ({ clientId: good.clientId, clientSecret: 'not the secret' }),
      ],
      [
        'a client that may only read',
        async ({ stage }: Scene) => {
          const { context } = sandbox.service
          const accountIds = [stage.accountId]
          const client = { name: 'Reader', environment: 'mainnet', scopes: ['transfers:read'], accountIds } as const
          return inTransaction(context, (tx) => registerClient(tx, context, client))
        },
      ],
    ])(
      '%s: only that account waits, one of its transfers probes, and all are sent after the credentials are renewed',
      async (_, refuse) => {
        const { scene, other, bad, renew } = await openTwo(refuse)
        await using _scene = scene
        const { host, stage, news } = scene
        const payouts = Array.from({ length: 30 }, () => stage.payout())
        const [canceled] = await host.transaction((tx) => host.engine.transfers.enqueueMany(tx, payouts))
        await host.engine.start({ concurrency: 5 })
        await waitUntil(() => news.includes('account.credentials_refused'))
        await host.transaction((tx) =>
          host.engine.transfers.enqueueMany(
            tx,
            Array.from({ length: 10 }, () => other.payout()),
          ),
        )
        await drain(host.engine, {
          until: ({ queued, submitted, settled }) => queued === 30 && submitted + settled === 10,
        })
        const probes = async () =>
          (await host.pool.query('select refusals from outlay.unauthorized_account where account_id = $1', [bad]))
            .rows[0]?.refusals ?? 0
        await waitUntil(async () => (await probes()) >= 3)
        const { rows } = await host.pool.query(
          `select count(*)::integer as count from outlay.attempt where outcome = 'unauthorized'`,
        )
        // Requests in flight before the first refusal was written, about three per slot, and the probes since.
        expect(rows[0].count).toBeLessThanOrEqual(22 + (await probes()))
        const waiting = await waitUntil(async () => {
          const found = await host.engine.transfers.get(canceled?.id ?? '')
          return found?.stage === 'queued' ? found : undefined
        })
        expect(waiting).toMatchObject({ reason: 'unauthenticated', status: 'pending' })
        expect(await waitUntil(() => scene.cancel(waiting.id))).toBe(true)

        renew()
        await drain(host.engine, { until: ({ submitted, settled }) => submitted + settled === 40 })
        expect(news).toEqual(['account.credentials_refused', 'account.credentials_restored'])
        await other.client.close()
        expect((await settleAll(stage, host)).service).toHaveLength(29)
      },
    )

    it.concurrent('a service that refuses even fresh tokens: the host can probe at once', async () => {
      await using scene = await open({ host: { jitter: 0.9 } })
      const rule = scene.proxy.faults.add({ ...creates, fault: { kind: 'refuse', status: 401 } })
      const { host, stage } = scene
      const { id } = await scene.enqueue()
      await host.engine.start()
      await scene.reach(id, { stage: 'queued', reason: 'unauthenticated' })
      expect(scene.creates).toHaveLength(2)
      rule.remove()
      expect(await host.transaction((tx) => host.engine.accounts.retryCredentials(tx, stage.accountId))).toBe(true)
      await scene.arrive(id)
      await scene.proveOne()
    })
  })

  describe('422 insufficient_balance', () => {
    const fund = async ({ stage }: Scene) => {
      const { context } = sandbox.service
      const { accountId, walletId: addressId } = stage
      const given = {
        accountId,
        addressId,
        valueType: 'USDC',
        transferType: 'base',
        amount: '100',
        reference: crypto.randomUUID(),
      }
      await inTransaction(context, (tx) => deposit(tx, context, given))
    }

    it.concurrent('it waits, reports it once, and is sent when the host reports that funds arrived', async () => {
      await using scene = await open({ client: account('1'), host: { jitter: 0.99 } })
      const { host, stage } = scene
      const { id } = await scene.enqueue()
      await host.engine.start()
      expect(await scene.reach(id, { stage: 'awaiting_funds' })).toMatchObject({ reason: 'insufficient_balance' })
      await fund(scene)
      expect(await host.transaction((tx) => host.engine.accounts.fundsArrived(tx, stage.accountId))).toBe(1)
      await scene.proveOne()
      expect(await scene.outcomes(id)).toEqual(['insufficient_balance', 'accepted'])
      expect(scene.news).toEqual(['transfer.awaiting_funds', 'transfer.released'])
    })

    it.concurrent('it is sent again on a slow backoff, and can be canceled until then', async () => {
      await using scene = await open({ client: account('1'), host: { jitter: 0.02 } })
      const { id } = await scene.enqueue()
      const other = await scene.enqueue()
      await scene.host.engine.start()
      await scene.reach(id, { stage: 'awaiting_funds' })
      await scene.reach(other.id, { stage: 'awaiting_funds' })
      expect(await waitUntil(() => scene.cancel(other.id))).toBe(true)
      await waitUntil(async () => (await scene.outcomes(id)).length >= 2)
      await fund(scene)
      const { service } = await settleAll(scene.stage, scene.host)
      expect(service).toHaveLength(1)
      expect(new Set((await scene.outcomes(id)).slice(0, -1))).toEqual(new Set(['insufficient_balance']))
      expect(scene.news).toEqual(['transfer.awaiting_funds', 'transfer.awaiting_funds'])
    })
  })

  describe('422 idempotency_key_mismatch', () => {
    it.concurrent('it is blocked for a person and never gets another key, not even on release', async () => {
      await using scene = await open()
      const { host, stage, reach } = scene
      const request = stage.request({ amount: { value: '3', currency: 'USDC' } })
      const idempotencyKey = await sentKeyOf(scene, 'taken')
      await stage.client.transfers.create(stage.accountId, request, { idempotencyKey })
      const { id } = await scene.enqueue({ idempotencyKey: 'taken' })
      await host.engine.start()
      await reach(id, { stage: 'blocked', reason: 'idempotency_key_mismatch', status: 'pending' })
      expect(await host.transaction((tx) => host.engine.transfers.release(tx, id))).toBe(true)
      await reach(id, { stage: 'blocked', attempt: 2 })
      expect(keysOf(scene)).toEqual([idempotencyKey])
      // The other request may be this payment, so a person says that it is not.
      expect(await scene.cancel(id)).toBe(false)
      await host.transaction((tx) => host.engine.transfers.resolve(tx, id, { notPaid: true }))
      const { id: corrected } = await host.transaction((tx) => host.engine.transfers.resubmit(tx, id))
      await scene.arrive(corrected)
      expect(keysOf(scene)).toEqual([idempotencyKey, await sentKeyOf(scene, 'taken:resubmit')])
      expect(scene.news).toEqual(['transfer.blocked', 'transfer.released', 'transfer.blocked'])
      await settleAll(stage, host)
    })
  })

  describe('another 4xx', () => {
    it.concurrent('it fails for good with the code of the service and the member; the corrected one is new', async () => {
      await using scene = await open()
      const { host, stage } = scene
      const wrong = { ...stage.payout().destination, addressId: '01J0000000000000000000000B' }
      const { id } = await scene.enqueue({ destination: wrong })
      await host.engine.start()
      const { status, failure, attempt } = await scene.reach(id, { stage: 'settled' })
      expect({ status, attempt }).toEqual({ status: 'failed', attempt: 1 })
      expect(failure).toMatchObject({ type: 'rejected', code: 'invalid_address', retriable: false })
      expect(failure?.detail).toMatch(/^destination\.addressId: /)
      expect(await scene.cancel(id)).toBe(false)
      const corrected = await scene.enqueue()
      await scene.arrive(corrected.id)
      expect(keysOf(scene)).toHaveLength(2)
      const { effects, service } = await settleAll(stage, host)
      expect(effects.map(({ type }) => type)).toEqual(['transfer.failed', 'transfer.completed'])
      expect(service).toHaveLength(1)
    })
  })

  describe('409 in flight, or 429', () => {
    it.concurrent('409: the same key is sent again after the requested pause', async () => {
      await using scene = await open({ host: { timeouts: { headersMs: 20_000 } } })
      // Another process of the service has the key in a separate transaction.
      const other = new pg.Client(services.url)
      await other.connect()
      await other.query(`begin; set local outlay.system = 'on'`)
      const { id } = await scene.enqueue()
      const insert = `insert into outlay_service.idempotency_key (client_id, idempotency_key, fingerprint, created_at)
        values ($1, $2, '', now())`
      await other.query(insert, [scene.stage.settings('', '').clientId, await sentKeyOf(scene, id)])
      await scene.host.engine.start()
      await scene.reach(id, { stage: 'queued', reason: 'rate_limited' }).finally(() => other.end())
      await scene.arrive(id)
      const { rows } = await scene.host.pool.query(`select http_status, detail,
          claimed_at - lag(answered_at) over (order by attempt) >= interval '0.9 s' as paused
        from outlay.attempt where http_status is not null order by attempt`)
      // On a busy machine the key may not be free yet when it is sent again.
      const [first, ...more] = rows.slice(0, -1)
      const conflict = { http_status: 409, detail: expect.stringContaining('key') }
      expect(first).toEqual({ ...conflict, paused: null })
      for (const one of more) expect(one).toEqual({ ...conflict, paused: true })
      expect(rows.at(-1)).toEqual({ http_status: 201, detail: null, paused: true })
      await scene.proveOne()
    })

    it.concurrent('429: not before Retry-After, then slower; it can be canceled until then, and others wait with it', async () => {
      await using scene = await open({ host: { jitter: 0.001 } })
      const page = { contentType: 'application/problem+json', body: '{"code":"rate_limited"}' }
      const fault = { kind: 'refuse', status: 429, retryAfterSeconds: 5, page } as const
      scene.proxy.faults.add({ ...creates, times: 2, fault })
      const { id } = await scene.enqueue()
      const other = await scene.enqueue()
      await scene.host.engine.start()
      await scene.reach(other.id, { stage: 'queued', reason: 'rate_limited' })
      expect(await scene.cancel(other.id)).toBe(true)
      // Transfers enqueued now wait too: the pause is the account's.
      const late = await scene.enqueue()
      const { throttledRatePerSecond, ratePerSecond } = await scene.host.engine.accounts.get(scene.stage.accountId)
      expect(ratePerSecond).toBeNull()
      expect(throttledRatePerSecond).toBeGreaterThan(0)
      expect(throttledRatePerSecond).toBeLessThanOrEqual(1)
      await scene.arrive(id)
      await scene.arrive(late.id)
      const sentKey = await sentKeyOf(scene, id)
      const [first, again] = scene.creates.filter(({ key }) => key === sentKey)
      expect((again?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(5_000)
      const { service } = await settleAll(scene.stage, scene.host)
      expect(service).toHaveLength(2)
      expect(scene.creates).toHaveLength(4)
      const lateKey = await sentKeyOf(scene, late.id)
      expect(scene.creates.filter(({ key }) => key === lateKey)).toHaveLength(1)
    })
  })

  describe('5xx, nothing, or nonsense', () => {
    it.concurrent.each([
      ['a 500 that took effect', { kind: 'fail_after' }],
      ['a 503 that did not', { kind: 'refuse', status: 503 }],
      ['a reset before the answer', { kind: 'drop_response' }],
      ['a reset before the request arrived', { kind: 'drop_request' }],
      ['a body that breaks off', { kind: 'reset_body' }],
    ] as const)(
      '%s: the outcome is unknown, the same key is sent again, and there is one transfer',
      async (_, fault) => {
        await using scene = await open()
        scene.proxy.faults.add({ ...creates, nth: 1, fault })
        const { id } = await scene.enqueue()
        await scene.host.engine.start()
        await scene.proveOne()
        expect(await scene.outcomes(id)).toEqual(['unknown', 'accepted'])
        expect(scene.creates).toHaveLength(2)
        expect(Number(await scene.stage.balance())).toBe(1_000_000 - 12.5)
      },
    )

    it.concurrent('an answer after the timeout: the same', async () => {
      await using scene = await open({ host: { timeouts: { headersMs: 2_000 } } })
      // A slow token does not make a create fail: the limit covers the whole attempt.
      scene.proxy.faults.add({ path: '/oauth2/token', nth: 1, fault: { kind: 'delay_response', ms: 3_000 } })
      const late = scene.proxy.faults.hold({ ...creates, at: 'response', deliverLate: true })
      const { id } = await scene.enqueue()
      await scene.host.engine.start()
      await scene.reach(id, { stage: 'queued', reason: 'outcome_unknown' })
      late.release()
      await scene.proveOne()
      // On a busy machine a further answer may come too late.
      const outcomes = await scene.outcomes(id)
      expect(new Set(outcomes.slice(0, -1))).toEqual(new Set(['unknown']))
      expect(outcomes.at(-1)).toBe('accepted')
      expect(scene.creates).toHaveLength(outcomes.length)
      expect(Number(await scene.stage.balance())).toBe(1_000_000 - 12.5)
    })

    it.concurrent('a success that cannot be read: the same', async () => {
      let answers = 0
      const garble = (body: string) => (answers++ === 0 ? '<html>Created</html>' : body)
      await using odd = await startRewritingProxy(sandbox.url, garble)
      await using scene = await open({ target: odd.url })
      const { id } = await scene.enqueue()
      await scene.host.engine.start()
      await scene.proveOne()
      expect(await scene.outcomes(id)).toEqual(['unknown', 'accepted'])
    })

    it.concurrent('for 24 hours: it is blocked, never failed; a release sends the same key, and it cannot be canceled', async () => {
      await using scene = await open()
      const { host, reach } = scene
      // The database's time counts, not a worker's clock.
      const pass = (interval: string) =>
        host.pool.query('update outlay.transfer set unknown_since = unknown_since - $1::interval', [interval])
      const rule = scene.proxy.faults.add({ ...creates, fault: { kind: 'fail_after', status: 503 } })
      const { id } = await scene.enqueue()
      await host.engine.start()
      await reach(id, { stage: 'queued', reason: 'outcome_unknown' })
      expect(await waitUntil(async () => (await scene.cancel(id)) === false)).toBe(true)
      await pass('23 hours')
      const tried = scene.creates.length
      await waitUntil(() => scene.creates.length >= tried + 2)
      expect((await host.engine.transfers.get(id))?.stage).not.toBe('blocked')
      await pass('1 hour')
      expect(await reach(id, { stage: 'blocked' })).toMatchObject({ status: 'pending', reason: 'outcome_unknown' })
      expect(await scene.cancel(id)).toBe(false)

      rule.remove()
      await host.transaction(async (tx) => {
        expect(await host.engine.transfers.release(tx, id)).toBe(true)
        await expect(host.engine.transfers.cancel(tx, id)).rejects.toMatchObject({ code: 'transfer_not_cancelable' })
      })
      await scene.proveOne()
      expect(scene.news).toEqual(['transfer.blocked', 'transfer.released'])
    })
  })
})
