import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type TestBankLinking, testBankLinking } from '../../test/bank-link.ts'
import { inspect } from '../../test/inspection.ts'
import { startReceiver } from '../../test/receiver.ts'
import { type Json, type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { inTransaction } from '../context.ts'
import type { TransferResource } from '../transfers/view.ts'
import type { DeliveryResource } from '../webhooks/view.ts'
import { reportLoginRequired } from './logins.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 1 })
/** Paths that answer 500 once. */
const failing = new Set<string>()
const { base, at } = await startReceiver((response, { path }) =>
  response.writeHead(failing.delete(path) ? 500 : 204).end(),
)
let api: TestSandbox
let bank: TestBankLinking
beforeAll(async () => {
  api = await testSandbox(database.url)
  bank = testBankLinking(api)
})
afterAll(async () => {
  await api.stop()
  await pool.end()
})

const arrives = (path: string, count = 1) =>
  vi.waitFor(
    () => {
      const found = at(path)
      expect(found).toHaveLength(count)
      return found.map((one) => ({ ...one, body: JSON.parse(one.body) as Json }))
    },
    { timeout: 60_000, interval: 25 },
  )
const debit = (id: string, key?: string) => {
  const body = {
    amount: { value: '25.00', currency: 'USD' },
    source: { address_id: id, value_type: 'USD', transfer_type: 'ach_debit' },
    destination: { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' },
  }
  const path = `/accounts/${api.accountId}/transfers`
  return api.call<TransferResource & { code?: string; errors?: unknown }>('POST', path, {
    body,
    ...(key === undefined ? {} : { key }),
  })
}
const reaches = (id: string, status: string) =>
  vi.waitFor(
    async () => {
      const { body } = await api.call('GET', `/accounts/${api.accountId}/transfers/${id}`)
      expect(body['status']).toBe(status)
    },
    { timeout: 60_000, interval: 25 },
  )
const deliveries = async (query = '') => {
  const path = `/accounts/${api.accountId}/webhooks/deliveries${query}`
  return (await api.call<{ deliveries: DeliveryResource[] }>('GET', path)).body.deliveries
}

describe('a linked bank account', () => {
  it('is debited until its owner has to log in again, refused from then on, and debited once it is linked again', async () => {
    const webhook = { url: `${base}/events`, event_types: ['financial_institution.login_required'] }
    await api.call('POST', `/accounts/${api.accountId}/webhooks`, { body: webhook })
    const id = await bank.link(undefined, { customer_webhook_url: `${base}/customer` })
    const first = await debit(id)
    expect(first.status).toBe(201)
    await reaches(first.body.id, 'processing')
    await api.call('POST', '/simulations/clock/advance', { body: { seconds: 7 * 86_400 } })
    await reaches(first.body.id, 'complete')

    expect((await bank.requireLogin(id, 'The password has changed.')).status).toBe(202)
    const [notice] = await arrives('/customer')
    expect(notice?.body).toEqual({
      reason: 'The password has changed.',
      timestamp: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
      event_type: 'ITEM_LOGIN REQUIRED',
      financial_institution_id: id,
    })
    expect(notice?.headers['content-type']).toBe('application/json')
    expect(notice?.headers).not.toHaveProperty('webhook-signature')
    const state = await bank.state(id)
    expect(state).toMatchObject({ status: 'login_required', needs_update: true })
    expect(state.last_updated).toBe(notice?.body['timestamp'])
    expect((await bank.institution(id)).status).toBe('login_required')
    const [event] = await arrives('/events')
    expect(event?.body).toMatchObject({
      type: 'financial_institution.login_required',
      data: { ...state, reason: 'The password has changed.' },
    })

    const refused = await debit(id, 'debit-after-login')
    expect(refused.status).toBe(422)
    expect(refused.body).toMatchObject({
      code: 'bank_login_required',
      errors: [{ source: { pointer: '/source/address_id' } }],
    })

    const relinked = await bank.relink(id)
    expect(relinked.status).toBe(201)
    expect(relinked.body.financial_institution_id).toBe(id)
    expect(await bank.state(id)).toMatchObject({ status: 'active', needs_update: false })
    expect((await debit(id, 'debit-after-login')).status).toBe(201)
  })

  it('that another transaction has locked keeps no report waiting, which takes effect when it comes again', async () => {
    const { context } = api.sandbox.service
    const id = await bank.link()
    const { rows } = await inspect(context.pool).query(
      `select bank_link_item_id as item from ${context.schema}.address where id = $1`,
      [id],
    )
    const said = { itemId: String(rows[0]?.item), reason: 'The password has changed.' }
    await inTransaction(context, async (tx) => {
      await tx.query(`select from ${context.schema}.address where id = $1 for update`, [id])
      await expect(reportLoginRequired(context, said)).rejects.toMatchObject({ code: '55P03' })
    })
    expect(await reportLoginRequired(context, said)).toBe(1)
    expect((await bank.state(id)).needs_update).toBe(true)
  })

  it('that has to be linked again still receives an ACH credit', async () => {
    const wallet = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
    const money = { account_id: api.accountId, ...wallet, amount: '100' }
    await api.call('POST', '/simulations/deposits', { body: money })
    const id = await bank.link()
    await bank.requireLogin(id)
    const destination = { address_id: id, value_type: 'USD', transfer_type: 'ach_credit' }
    const body = { amount: { value: '5.00', currency: 'USD' }, source: wallet, destination }
    expect((await api.call('POST', `/accounts/${api.accountId}/transfers`, { body })).status).toBe(201)
  })

  it('is not renewed by the public token that linked it', async () => {
    const publicToken = await bank.complete(await bank.linkToken())
    const { body } = await bank.register(publicToken)
    await bank.requireLogin(body.financial_institution_id)
    const again = await bank.register(publicToken)
    expect(again.status).toBe(422)
    expect(again.body.errors).toMatchObject([{ source: { pointer: '/public_token' } }])
    expect((await bank.state(body.financial_institution_id)).needs_update).toBe(true)
  })

  it('is renewed by a new flow that selects it too', async () => {
    const account = { account_number: '6000000001' }
    const id = await bank.link([account])
    await bank.requireLogin(id)
    expect(await bank.link([account])).toBe(id)
    expect((await bank.state(id)).needs_update).toBe(false)
  })

  it('that was entered by hand has no login: nothing to renew and nothing to require', async () => {
    const place = { street_line_1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' }
    const numbers = { account_number: '5554443332', routing_number: '021000021', account_type: 'checking' }
    const path = `/accounts/${api.accountId}/financial-institutions`
    const body = { owner: 'Acme', ...numbers, bank_address: place, beneficiary_address: place }
    const id = String((await api.call('POST', `${path}/external`, { body })).body['id'])
    expect((await api.call('POST', `${path}/${id}/update-link-token`)).status).toBe(409)
    expect((await bank.requireLogin(id)).status).toBe(409)
    expect((await bank.state(id)).needs_update).toBe(false)
    expect((await debit(id)).status).toBe(201)
  })

  it('answers update-link-token with a whole link token, also by the address', async () => {
    const id = await bank.link()
    for (const noun of ['financial-institutions', 'addresses', 'banklink']) {
      const answer = await api.call('POST', `/accounts/${api.accountId}/${noun}/${id}/update-link-token`)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        link_token: expect.stringMatching(/^link-sandbox-/),
        expiration: expect.stringMatching(/Z$/),
        callback_url: expect.stringContaining(`/accounts/${api.accountId}/`),
      })
    }
    const foreign = `/accounts/${api.otherAccountId}/financial-institutions/${id}/update-link-token`
    expect((await api.call('POST', foreign)).status).toBe(404)
  })
})

describe('the notice', () => {
  it('is sent once per financial institution of the item, however often the provider reports', async () => {
    const accounts = [{ account_number: '6100000001' }, { account_number: '6100000002' }]
    const publicToken = await bank.complete(await bank.linkToken(), accounts)
    const { body } = await bank.register(publicToken, { customer_webhook_url: `${base}/several` })
    await Promise.all([1, 2, 3].map(() => bank.requireLogin(body.financial_institution_id)))
    const notices = await arrives('/several', 2)
    expect(new Set(notices.map((one) => one.body['financial_institution_id']))).toEqual(
      new Set(body.financial_institution_ids),
    )
    await bank.relink(body.financial_institution_id)
    for (const id of body.financial_institution_ids ?? []) expect((await bank.state(id)).needs_update).toBe(false)
    await bank.requireLogin(body.financial_institution_id)
    await arrives('/several', 4)
  })

  it('is retried when the endpoint fails, on the schedule of webhooks', async () => {
    failing.add('/failing')
    const id = await bank.link(undefined, { customer_webhook_url: `${base}/failing` })
    await bank.requireLogin(id)
    const [first] = await arrives('/failing')
    const eventId = String(first?.headers['webhook-id'])
    const found = await vi.waitFor(
      async () => {
        const [delivery] = await deliveries(`?event_id=${eventId}`)
        expect(delivery).toMatchObject({ status: 'pending', attempts: 1, last_status: 500 })
        return delivery
      },
      { timeout: 60_000 },
    )
    const pauseMs = Date.parse(String(found?.next_attempt_at)) - Date.parse(String(found?.last_attempt_at))
    expect(pauseMs).toBeGreaterThanOrEqual(5_000)
    expect(pauseMs).toBeLessThan(7_000)
    // The pause is over.
    await inspect(pool).query(
      `update outlay_service.webhook_delivery set next_attempt_at = now() where event_id = $1`,
      [eventId],
    )
    const [, second] = await arrives('/failing', 2)
    expect(second?.body).toEqual(first?.body)
    expect(second?.headers['webhook-id']).toBe(eventId)
    await vi.waitFor(
      async () => {
        const after = await deliveries(`?event_id=${eventId}`)
        expect(after).toMatchObject([{ status: 'delivered', attempts: 2, event_type: 'ITEM_LOGIN REQUIRED' }])
      },
      { timeout: 60_000 },
    )
  })

  it('goes to the URL of the last registration that named one', async () => {
    const id = await bank.link(undefined, { customer_webhook_url: `${base}/old` })
    await bank.relink(id)
    await bank.requireLogin(id)
    await arrives('/old')
    const path = `/accounts/${api.accountId}/financial-institutions/${id}/update-link-token`
    const { body } = await api.call<{ link_token: string }>('POST', path)
    await bank.register(await bank.complete(body.link_token), { customer_webhook_url: `${base}/new` })
    await bank.requireLogin(id)
    await arrives('/new')
    expect(at('/old')).toHaveLength(1)
  })

  it('is no webhook: it is not listed, read, changed or removed as one, and a resend goes to its own URL alone', async () => {
    const webhooks = `/accounts/${api.accountId}/webhooks`
    await api.call('POST', webhooks, { body: { url: `${base}/everything` } })
    const id = await bank.link(undefined, { customer_webhook_url: `${base}/hidden` })
    await bank.requireLogin(id)
    const [notice] = await arrives('/hidden')
    await arrives('/everything')
    const { body } = await api.call<{ webhooks: { url: string }[] }>('GET', webhooks)
    expect(body.webhooks.map(({ url }) => url)).not.toContain(`${base}/hidden`)
    const eventId = String(notice?.headers['webhook-id'])
    const [delivery] = await deliveries(`?event_id=${eventId}`)
    const subscription = `${webhooks}/subscriptions/${delivery?.subscription_id}`
    expect((await api.call('GET', subscription)).status).toBe(404)
    expect((await api.call('PATCH', subscription, { body: { status: 'disabled' } })).status).toBe(404)
    expect((await api.call('DELETE', subscription)).status).toBe(404)
    const resent = await api.call('POST', `${webhooks}/events/${eventId}/resend`)
    expect(resent.body['deliveries']).toBe(1)
    await arrives('/hidden', 2)
    expect(at('/everything')).toHaveLength(1)
  })

  it('is not sent without a customer_webhook_url', async () => {
    const id = await bank.link()
    expect((await bank.requireLogin(id)).body).toMatchObject({ needs_update: true })
    const waiting = (await deliveries('?status=pending')).filter((one) => one.event_type === 'ITEM_LOGIN REQUIRED')
    expect(waiting).toEqual([])
  })
})
