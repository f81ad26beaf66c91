import { BankAccount } from '@outlay/core'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type TestAutomations, testAutomations } from '../../test/automations.ts'
import { checkedFetch } from '../../test/contract.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { setAccountStatus } from '../accounts/accounts.ts'
import { inTransaction } from '../context.ts'
import type { AutomationResource } from './automations.ts'
import { mostAutomations, mostAutomationsEver } from './creation.ts'
import { startAutomationOpening } from './opening.ts'

const fetch = checkedFetch(globalThis.fetch)

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let automations: TestAutomations
let events: (type: string) => Promise<readonly { data: AutomationResource }[]>
beforeAll(async () => {
  api = await testSandbox(database.url)
  automations = testAutomations(api)
  const body = { url: 'http://127.0.0.1:9/', event_types: ['automation.*'] }
  await api.call('POST', `/accounts/${api.accountId}/webhooks`, { body })
  const { pool, schema } = api.sandbox.service.context
  events = async (type) => {
    const { rows } = await inspect(pool).query(`select body from ${schema}.webhook_event where type = $1 order by id`, [
      type,
    ])
    return rows.map((row) => JSON.parse(row.body))
  }
})
afterAll(() => api.stop())

const base = (address_id: string) => ({ address_id, value_type: 'USDC', transfer_type: 'base' })

describe('creating an automation', () => {
  it('answers 201 in status pending, with transfer_type null and no funding instructions yet', async () => {
    const { status, body } = await automations.create({ brand: { account_id: api.otherAccountId } })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9A-Z]{26}$/),
      name: 'Treasury',
      status: 'pending',
      source: { value_type: 'USD', transfer_type: null, funding_instructions: null },
      destination: base(api.walletId),
      destination_address: base(api.walletId),
      created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      updated_at: body.created_at,
    })
  })

  it('happens once per idempotency key, and needs one', async () => {
    const first = await automations.create({ name: 'Once' }, 'automation-once')
    const second = await automations.create({ name: 'Once' }, 'automation-once')
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect((await automations.create({ name: 'Twice' }, 'automation-once')).body.code).toBe('idempotency_key_mismatch')
    const listed = await api.call<{ automations: AutomationResource[] }>(
      'GET',
      `/accounts/${api.accountId}/automations`,
    )
    expect(listed.body.automations.filter(({ name }) => name === 'Once')).toHaveLength(1)
    expect((await automations.create({}, '')).status).toBe(400)
  })

  it.each([
    ['a source of a token, as for an offramp or a swap', { source: { value_type: 'USDC' } }, 'unsupported_flow'],
    ['a source of pesos', { source: { value_type: 'MXN' } }, 'unsupported_flow'],
    ['no name', { name: undefined }, 'missing_field'],
  ])('with %s is refused', async (_name, body, code) => {
    const refused = await automations.create(body)
    expect([refused.status, refused.body.code]).toEqual([422, code])
  })

  it('is refused for a destination that cannot be minted to, with the member', async () => {
    const archived = await automations.addWallet('0x52908400098527886E0F7030069857D2E4169EE7')
    await api.call('PATCH', `/accounts/${api.accountId}/addresses/${archived}`, { body: { status: 'archived' } })
    const cases = [
      [base('0'.repeat(26)), 'invalid_address'],
      [base(api.otherWallet.addressId), 'invalid_address'],
      [base(archived), 'address_archived'],
      [{ ...base(api.walletId), transfer_type: 'solana' }, 'transfer_type_not_supported'],
      [{ ...base(api.walletId), transfer_type: 'wire', value_type: 'USD' }, 'unsupported_flow'],
      [{ ...base(api.walletId), transfer_type: 'base_sepolia' }, 'transfer_type_not_supported'],
    ] as const
    for (const [destination, code] of cases) {
      const refused = await automations.create({ destination })
      expect([refused.status, refused.body.code]).toEqual([422, code])
      expect(refused.body.errors?.[0]?.source.pointer).toMatch(/^\/destination\//)
    }
  })

  it('is refused for the brand of an account that the client neither owns nor manages', async () => {
    const other = await api.sandbox.seedClient({ name: 'Other', accounts: [{ businessName: 'Other' }] })
    const refused = await automations.create({ brand: { account_id: other.accounts[0]?.accountId } })
    expect([refused.status, refused.body.code]).toEqual([422, 'invalid_id'])
  })

  it.each([
    ['that can run', mostAutomations, 'pending'],
    ['with the archived ones', mostAutomationsEver, 'archived'],
  ] as const)('is refused for an account that has as many as it may %s', async (_, most, status) => {
    const { pool, schema } = api.sandbox.service.context
    const counted = status === 'archived' ? 'true' : `status <> 'archived'`
    const { rows } = await inspect(pool).query(
      `select count(*)::int as count from ${schema}.automation where account_id = $1 and ${counted}`,
      [api.accountId],
    )
    await inspect(pool).query(
      `insert into ${schema}.automation
         (id, account_id, environment, name, status, source_value_type, destination_address_id, destination_value_type,
          destination_transfer_type, beneficiary_name, beneficiary_address, financial_institution_id, created_at, updated_at)
       select 'limit-' || n, $1, 'mainnet', 'Many', $4, 'USD', $2, 'USDC', 'base', 'Acme', '1 Main St', 'limit-' || n, now(), now()
         from generate_series(1, $3::int) n`,
      [api.accountId, api.walletId, most - 1 - rows[0].count, status],
    )
    const answers = await Promise.all([1, 2, 3].map(() => automations.create()))
    expect(answers.map(({ status, body }) => `${status} ${body.code ?? ''}`).sort()).toEqual([
      '201 ',
      '409 conflict',
      '409 conflict',
    ])
    // What is archived makes room for another one, up to the limit of all.
    const made = answers.find(({ status }) => status === 201)?.body.id ?? ''
    expect((await automations.change(made, { status: 'archived' })).status).toBe(200)
    expect((await automations.create()).status).toBe(status === 'archived' ? 409 : 201)
    await inspect(pool).query(`delete from ${schema}.automation where id like 'limit-%'`)
  })

  it('has no brand that was rejected while the create waited for another one', async () => {
    const { context } = api.sandbox.service
    const setStatus = (status: 'rejected' | 'complete') =>
      inTransaction(context, (tx) => setAccountStatus(tx, context, api.otherAccountId, status))
    const locked = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    const holder = inTransaction(context, async (tx) => {
      await tx.query(`select from ${context.schema}.account where id = $1 for no key update`, [api.accountId])
      locked.resolve()
      await mayEnd.promise
    })
    await locked.promise
    const creating = automations.create({ brand: { account_id: api.otherAccountId } })
    const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    await vi.waitFor(async () => expect((await inspect(context.pool).query(waits)).rowCount).toBe(1), {
      timeout: 60_000,
    })
    await setStatus('rejected')
    mayEnd.resolve()
    await holder
    expect((await creating).body).toMatchObject({ code: 'account_not_ready' })
    await setStatus('complete')
  })

  it('is refused while the account is not complete', async () => {
    const setStatus = (status: string) =>
      api.call('POST', `/simulations/accounts/${api.accountId}/status`, { body: { status } })
    await setStatus('rejected')
    const refused = await automations.create()
    await setStatus('complete')
    expect([refused.status, refused.body.code]).toEqual([422, 'account_not_ready'])
  })
})

describe('the bank', () => {
  it('opens a virtual account: pending, processing, then active with funding instructions', async () => {
    const { body } = await automations.create()
    const processing = await automations.reaches(body.id, 'processing')
    expect(processing.source.funding_instructions).toBeNull()
    expect(processing.updated_at > processing.created_at).toBe(true)
    await automations.advance(3)
    const active = await automations.reaches(body.id, 'active')
    expect(active.source).toEqual({
      value_type: 'USD',
      transfer_type: null,
      funding_instructions: {
        beneficiary_name: 'Acme Payments LLC',
        beneficiary_address: '1 Sandbox Plaza, Chicago, IL 60601',
        bank_name: expect.any(String),
        bank_address: expect.any(String),
        account_number: expect.stringMatching(/^\d{12}$/),
        routing_number: expect.stringMatching(/^\d{9}$/),
        memo: null,
      },
    })
    expect(BankAccount.isRoutingNumber(active.source.funding_instructions?.routing_number)).toBe(true)
  })

  it('gives every automation its own account number', async () => {
    const [one, two] = [await automations.open(), await automations.open()]
    expect(automations.accountNumberOf(one)).not.toBe(automations.accountNumberOf(two))
  })

  it('shows the name and the address of the brand as beneficiary', async () => {
    const branded = await automations.open({ brand: { account_id: api.otherAccountId } })
    expect(branded.source.funding_instructions?.beneficiary_name).toBe('Managed Inc')
    expect(branded).not.toHaveProperty('brand')
  })

  it('opens one account however often it is ordered, and automation.active is recorded once', async () => {
    const { context } = api.sandbox.service
    const more = [startAutomationOpening(context, { pollIntervalMs: 5 }), startAutomationOpening(context)]
    const { id } = await automations.open({ name: 'Contended' })
    for (const one of more) await one.stop()
    const order = { automationId: id, accountId: api.accountId, beneficiary: { name: '', address: '' } }
    await context.rails.virtualAccounts?.open(order, { signal: new AbortController().signal })
    await automations.advance(5)
    const { rows } = await inspect(context.pool).query(
      `select ready_at from ${context.schema}.rail_virtual_account where automation_id = $1`,
      [id],
    )
    expect(rows).toEqual([{ ready_at: null }])
    expect((await events('automation.active')).filter(({ data }) => data.id === id)).toHaveLength(1)
  })

  it('has an account number that is in plain text only in the answers', async () => {
    const active = await automations.open({ name: 'Sealed' })
    const number = automations.accountNumberOf(active)
    const event = (await events('automation.active')).find(({ data }) => data.id === active.id)
    const shown = event?.data.source.funding_instructions
    expect(shown).toEqual({ ...active.source.funding_instructions, account_number: `****${number.slice(-4)}` })
    const { pool, schema } = api.sandbox.service.context
    const { rows } = await inspect(pool).query(
      `select to_jsonb(a)::text as row from ${schema}.automation a where id = $1`,
      [active.id],
    )
    expect(rows[0]?.row).toContain('v1.')
    expect(rows[0]?.row).not.toContain(number)
  })
})

describe('reading automations', () => {
  it('lists those of the account alone, newest first', async () => {
    const { body } = await automations.create({ name: 'Newest' })
    const path = (accountId: string) => `/accounts/${accountId}/automations`
    const listed = await api.call<{ automations: AutomationResource[] }>('GET', path(api.accountId))
    expect(listed.body.automations[0]).toMatchObject({ id: body.id, name: 'Newest' })
    expect((await api.call('GET', path(api.otherAccountId))).body).toEqual({ automations: [] })
    const foreign = await api.call('GET', `${path(api.otherAccountId)}/${body.id}`)
    const malformed = await api.call('GET', `${path(api.accountId)}/nonsense`)
    const unknown = await api.call('GET', `${path(api.accountId)}/${'0'.repeat(26)}`)
    expect([foreign.status, malformed.status, unknown.status]).toEqual([404, 404, 404])
  })

  it('needs the scopes of automations', async () => {
    const client = await api.sandbox.seedClient({
      name: 'Narrow',
      scopes: ['automations:read'],
      accounts: [{ businessName: 'Narrow' }],
    })
    const form = { grant_type: 'client_credentials', client_id: client.clientId, client_secret: client.clientSecret }
    const granted = await fetch(`${api.sandbox.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
    const { access_token: token } = (await granted.json()) as { access_token: string }
    const url = `${api.sandbox.url}/accounts/${client.accounts[0]?.accountId}/automations`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k' }
    expect((await fetch(url, { headers: { authorization: headers.authorization } })).status).toBe(200)
    expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(403)
  })
})

describe('changing an automation', () => {
  it('disables it, enables it again, and archives it permanently', async () => {
    const { id, updated_at: before } = await automations.open()
    const disabled = await automations.change(id, { status: 'disabled', name: 'Paused' })
    expect(disabled.body).toMatchObject({ status: 'disabled', name: 'Paused' })
    expect(disabled.body.updated_at > before).toBe(true)
    expect((await automations.change(id, { status: 'disabled' })).body.updated_at).toBe(disabled.body.updated_at)
    expect((await automations.change(id, { status: 'complete' })).body.status).toBe('active')
    expect((await automations.change(id, { status: 'archived' })).body.status).toBe('archived')
    const revived = await automations.change(id, { status: 'active' })
    expect([revived.status, revived.body.code]).toEqual([409, 'conflict'])
  })

  it('cannot make it active before the bank has, and an archived one never becomes active', async () => {
    const { id } = (await automations.create()).body
    expect((await automations.change(id, { status: 'active' })).status).toBe(409)
    expect((await automations.change(id, { status: 'disabled' })).status).toBe(409)
    await automations.reaches(id, 'processing')
    expect((await automations.change(id, { status: 'archived' })).status).toBe(200)
    await automations.advance(5)
    expect(await automations.read(id)).toMatchObject({ status: 'archived' })
  })

  it.each([[{}], [{ status: 'pending' }], [{ status: 'gone' }], [{ name: '' }], [{ name: 7 }]])(
    'to %j is refused',
    async (body) => {
      const { id } = (await automations.create()).body
      const refused = await automations.change(id, body)
      expect([refused.status, refused.body.code]).toEqual([422, 'invalid_request'])
    },
  )

  it('sends later deposits to another address, under each name of it and at its own path', async () => {
    const automation = await automations.open()
    const { id } = automation
    const wallets = [
      '0x52908400098527886E0F7030069857D2E4169EE7',
      '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
      '0xde709f2102306220921060314715629080e2fb77',
      '0x27b1fdb04752bbc536007a920d24acb045561c26',
    ]
    const [a = '', b = '', c = '', d = ''] = await Promise.all(wallets.map(automations.addWallet))
    const change = (body: object, at = '') =>
      api.call<AutomationResource>('PATCH', `/accounts/${api.accountId}/automations/${id}${at}`, { body })
    for (const [to, changed] of [
      [a, await change({ address_id: a })],
      [b, await change({ destination: base(b), name: 'Renamed' })],
      [c, await change({ destination_address: { address_id: c } })],
      [d, await change({ addressId: d }, '/destination')],
    ] as const) {
      expect([changed.status, changed.body.destination]).toEqual([200, base(to)])
      expect(changed.body.destination_address).toEqual(base(to))
    }
    const before = await automations.read(id)
    expect(before).toMatchObject({ name: 'Renamed', status: 'active' })
    expect((await change({ address_id: d })).body.updated_at).toBe(before.updated_at)
    const { body: deposit } = await automations.wire(automation, { amount: '10.00' })
    const { destination } = await automations.transferReaches(deposit.transfer_id, 'processing')
    expect(destination.address_id).toBe(d)
  })

  it('does not send its deposits where a create could not, and names the member', async () => {
    const { id } = (await automations.create()).body
    const archived = await automations.addWallet('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed')
    await api.call('PATCH', `/accounts/${api.accountId}/addresses/${archived}`, { body: { status: 'archived' } })
    const payee = await automations.addWallet('0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359')
    for (const [body, code, pointer] of [
      [{ address_id: api.otherWallet.addressId }, 'invalid_address', '/address_id'],
      [{ destination: base(archived) }, 'address_archived', '/destination/address_id'],
      [{ destination_address: { address_id: '0'.repeat(26) } }, 'invalid_address', '/destination_address/address_id'],
      [{ destination: { ...base(payee), transfer_type: 'solana' } }, 'invalid_request', '/destination/transfer_type'],
      [{ destination: { ...base(payee), value_type: 'USDT' } }, 'invalid_request', '/destination/value_type'],
      [{ destination: base(payee), address_id: payee }, 'invalid_request', '/address_id'],
      [{ addressId: 'x' }, 'invalid_id', '/addressId'],
    ] as const) {
      const { status, body: refusal } = await automations.change(id, body)
      expect([status, refusal.code, refusal.errors?.[0]?.source.pointer]).toEqual([422, code, pointer])
    }
    expect((await automations.read(id)).destination).toEqual(base(api.walletId))
    await automations.change(id, { status: 'archived' })
    const late = await automations.change(id, { address_id: payee })
    expect([late.status, late.body.code]).toEqual([409, 'conflict'])
    expect((await automations.change('0'.repeat(26), { address_id: payee })).status).toBe(404)
    const foreign = `/accounts/${api.otherAccountId}/automations/${id}/destination`
    expect((await api.call('PATCH', foreign, { body: { address_id: payee } })).status).toBe(404)
  })

  it('of an unknown one is 404', async () => {
    expect((await automations.change('0'.repeat(26), { status: 'disabled' })).status).toBe(404)
  })
})
