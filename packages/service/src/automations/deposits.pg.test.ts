import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type DepositAnswer, type Refusal, type TestAutomations, testAutomations } from '../../test/automations.ts'
import { checkedFetch } from '../../test/contract.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { BalanceResource } from '../balances/balances.ts'
import type { ServiceContext } from '../context.ts'
import type { DepositFact } from '../rails/port.ts'
import type { AutomationResource } from './automations.ts'
import { applyDeposit } from './deposits.ts'

const fetch = checkedFetch(globalThis.fetch)

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let automations: TestAutomations
let automation: AutomationResource
let context: ServiceContext
beforeAll(async () => {
  api = await testSandbox(database.url)
  automations = testAutomations(api)
  context = api.sandbox.service.context
  const body = { url: 'http://127.0.0.1:9/', event_types: ['transfer.*'] }
  await api.call('POST', `/accounts/${api.accountId}/webhooks`, { body })
  automation = await automations.open()
})
afterAll(() => api.stop())

/** Balance of the wallet when no transfer is in progress. */
const balance = async (): Promise<number> => {
  await vi.waitFor(
    async () => {
      await automations.advance(60)
      expect(await automations.transfers('status=pending')).toEqual([])
      expect(await automations.transfers('status=processing')).toEqual([])
    },
    { timeout: 60_000, interval: 25 },
  )
  const { body } = await api.call<{ balances: BalanceResource[] }>('GET', `/accounts/${api.accountId}/balances`)
  const one = body.balances.find((row) => row.value_type === 'USDC' && row.transfer_type === 'base')
  return Number(one?.balance.value ?? 0)
}
const eventsOf = async (transferId: string | null): Promise<readonly string[]> => {
  const { rows } = await inspect(context.pool).query(
    `select type from ${context.schema}.webhook_event where body::jsonb #>> '{data,id}' = $1 order by id`,
    [transferId],
  )
  return rows.map(({ type }) => type)
}
const settlement = async (): Promise<number> => {
  const { rows } = await inspect(context.pool).query(
    `select coalesce(sum(entries_available), 0) as usd from ${context.schema}.ledger_balance
      where kind = 'settlement' and value_type = 'USD'`,
  )
  return Number(rows[0]?.usd)
}
const returned = async (reference: string) => {
  const { rows } = await inspect(context.pool).query(
    `select automation_id, return_reason from ${context.schema}.returned_deposit where reference = $1`,
    [reference],
  )
  return rows
}
const factOf = (reference: string, fields: Partial<DepositFact> = {}): DepositFact => ({
  reference,
  transferType: 'wire',
  routingNumber: automation.source.funding_instructions?.routing_number ?? '',
  accountNumber: automations.accountNumberOf(automation),
  amount: { value: '75.00', currency: 'USD' },
  details: { imad: reference },
  ...fields,
})
const countTransfers = async (reference: string) =>
  (await automations.transfers(`transaction_id=${reference}&automation_id=${automation.id}`)).length

describe('a wire to the virtual account', () => {
  it('makes one transfer with the fuller payment details, which mints to the destination', async () => {
    const before = await balance()
    const sent = { amount: '1250.00', sender_name: 'Globex', sender_bank_name: 'Globex Bank', reference: 'INV-1' }
    const { status, body } = await automations.wire(automation, sent)
    expect(status).toBe(202)
    expect(body).toMatchObject({ status: 'credited', return_reason: null })
    await automations.transferReaches(body.transfer_id, 'processing')
    await automations.advance(30)
    const complete = await automations.transferReaches(body.transfer_id, 'complete')
    expect(complete).toMatchObject({
      automation_id: automation.id,
      amount: { value: '1250.00', currency: 'USD' },
      failure: null,
      source: { value_type: 'USD', transfer_type: 'wire', transaction_id: body.bank_reference },
      destination: { ...automation.destination, transaction_id: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
    })
    expect(complete.source.financial_institution_id).toMatch(/^[0-9A-Z]{26}$/)
    expect(complete.source).not.toHaveProperty('address_id')
    expect(complete.source.payment_details).toEqual({
      received_at: expect.stringMatching(/^\d{4}-.*Z$/),
      sender_name: 'Globex',
      sender_bank_name: 'Globex Bank',
      sender_bank_routing_number: null,
      payment_reference: 'INV-1',
      imad: expect.stringMatching(/^\d{8}[A-Z0-9]{8}\d{6}$/),
    })
    expect(complete).not.toHaveProperty('wire_instructions')
    expect(await balance()).toBe(before + 1250)
    expect(await eventsOf(body.transfer_id)).toEqual(['transfer.created', 'transfer.processing', 'transfer.completed'])
  })

  it('is found by automation_id and by its bank reference', async () => {
    const { body } = await automations.wire(automation, { amount: '5' })
    const ids = async (filter: string) => (await automations.transfers(filter)).map(({ id }) => id)
    expect(await ids(`automation_id=${automation.id}`)).toContain(body.transfer_id)
    expect(await ids(`transaction_id=${body.bank_reference}`)).toEqual([body.transfer_id])
    expect(await ids(`automation_id=${'0'.repeat(26)}`)).toEqual([])
  })

  it('has no limit', async () => {
    expect((await automations.wire(automation, { amount: '1000000.00' })).body.status).toBe('credited')
  })

  it('shows the same financial institution for every deposit of one automation', async () => {
    const shown = (await automations.transfers(`automation_id=${automation.id}`)).map(
      ({ source }) => source.financial_institution_id,
    )
    expect(shown.length).toBeGreaterThan(1)
    expect(new Set(shown).size).toBe(1)
  })
})

describe('a simulated deposit at the path of its automation', () => {
  const send = (id: string, body: object, accountId = api.accountId) =>
    api.call<DepositAnswer & Refusal>('POST', `/accounts/${accountId}/automations/${id}/simulations/deposits`, { body })

  it('is a wire unless it says otherwise, and is the same payment as one by account number', async () => {
    const body = { amount: { value: '12.00', currency: 'USD' }, reference: 'by-path' }
    const { status, body: deposit } = await send(automation.id, body)
    expect(status).toBe(202)
    expect(deposit).toMatchObject({ automation_id: automation.id, transfer_type: 'wire', status: 'credited' })
    const again = await automations.wire(automation, { amount: '12.00', reference: 'by-path' })
    expect(again.body.transfer_id).toBe(deposit.transfer_id)
    const ach = await send(automation.id, { amount: '5', transfer_type: 'ach_credit' })
    expect(ach.body).toMatchObject({ transfer_type: 'ach_credit', status: 'credited' })
  })

  it('is refused without an amount, by another rail, before the account is open, and to others', async () => {
    const amount = '5'
    const codeOf = async (answer: ReturnType<typeof send>) => {
      const { status, body } = await answer
      return [status, body.code, body.errors?.[0]?.source?.pointer]
    }
    expect(await codeOf(send(automation.id, {}))).toEqual([422, 'missing_field', '/amount'])
    expect(await codeOf(send(automation.id, { amount: '0' }))).toEqual([422, 'amount_not_positive', '/amount/value'])
    const rail = { amount, transfer_type: 'rtp' }
    expect(await codeOf(send(automation.id, rail))).toEqual([422, 'invalid_request', '/transfer_type'])
    expect(await codeOf(send(automation.id, { amount }, api.otherAccountId))).toEqual([404, 'not_found', undefined])
    expect(await codeOf(send('0'.repeat(26), { amount }))).toEqual([404, 'not_found', undefined])
    const { id } = await automations.open()
    const unopened = `set status = 'processing', account_number = null, account_number_index = null where id = $1`
    await inspect(context.pool).query(`update ${context.schema}.automation ${unopened}`, [id])
    expect(await codeOf(send(id, { amount }))).toEqual([409, 'conflict', undefined])
  })
})

describe('an ACH credit to the virtual account', () => {
  it('makes one transfer with a subset of the payment details', async () => {
    const before = await balance()
    const { body } = await automations.ach(automation, { amount: '50000', sender_name: 'Initech' })
    expect(body.status).toBe('credited')
    await automations.transferReaches(body.transfer_id, 'processing')
    await automations.advance(30)
    const complete = await automations.transferReaches(body.transfer_id, 'complete')
    expect(complete.source).toMatchObject({ transfer_type: 'ach_credit', transaction_id: body.bank_reference })
    expect(complete.source.payment_details).toEqual({
      received_at: expect.any(String),
      sender_name: 'Initech',
      payment_reference: null,
      trace_number: expect.stringMatching(/^\d{15}$/),
    })
    expect(await balance()).toBe(before + 50_000)
  })

  it('above 50,000 USD is returned', async () => {
    const { body } = await automations.ach(automation, { amount: '50000.01' })
    expect(body).toMatchObject({ status: 'returned', return_reason: 'ach_limit_exceeded', transfer_id: null })
  })
})

describe('the destination', () => {
  it('can be an outside wallet, to which the mint is delivered on chain', async () => {
    const before = await balance()
    const wallet = await automations.addWallet('0xde709f2102306220921060314715629080e2fb77')
    const destination = { address_id: wallet, value_type: 'SBC', transfer_type: 'base' }
    const outward = await automations.open({ destination })
    const { body } = await automations.wire(outward, { amount: '80' })
    await automations.transferReaches(body.transfer_id, 'processing')
    await automations.advance(30)
    const complete = await automations.transferReaches(body.transfer_id, 'complete')
    expect(complete.destination).toMatchObject({ ...destination, transaction_id: expect.stringMatching(/^0x/) })
    expect(await balance()).toBe(before)
  })

  it('that is archived in the meantime causes a return of the deposit', async () => {
    const wallet = await automations.addWallet('0x27b1fdb04752bbc536007a920d24acb045561c26')
    const outward = await automations.open({ destination: { ...automation.destination, address_id: wallet } })
    await api.call('PATCH', `/accounts/${api.accountId}/addresses/${wallet}`, { body: { status: 'archived' } })
    const { body } = await automations.wire(outward, { amount: '80' })
    expect(body).toMatchObject({ status: 'returned', return_reason: 'address_archived' })
  })

  it('whose mint fails leaves a failed transfer, and the dollars in the settlement account', async () => {
    const before = [await balance(), await settlement()]
    const { body } = await automations.wire(automation, { amount: '6660.01' })
    await automations.transferReaches(body.transfer_id, 'processing')
    await automations.advance(30)
    const failed = await automations.transferReaches(body.transfer_id, 'failed')
    expect(failed.failure).toMatchObject({ code: 'transaction_reverted' })
    expect([await balance(), await settlement()]).toEqual([before[0], (before[1] ?? 0) + 6660.01])
  })
})

describe('a deposit that is reported again', () => {
  it('with the same reference of its sender changes nothing', async () => {
    const first = await automations.wire(automation, { amount: '11', reference: 'SAME' })
    const second = await automations.wire(automation, { amount: '11.00', reference: 'SAME' })
    expect(second.body).toEqual(first.body)
    const other = await automations.wire(automation, { amount: '12', reference: 'SAME' })
    expect(other.body).toMatchObject({ code: 'conflict', errors: [{ source: { pointer: '/reference' } }] })
    expect(await countTransfers(first.body.bank_reference)).toBe(1)
    const byAch = await automations.ach(automation, { amount: '11', reference: 'SAME' })
    expect(byAch.body.transfer_id).not.toBe(first.body.transfer_id)
  })

  it('twenty times at once makes one transfer', async () => {
    const reference = '20261101OUTL0000900001'
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => applyDeposit(context, factOf(reference))))
    expect(new Set(verdicts.map((one) => JSON.stringify(one))).size).toBe(1)
    expect(verdicts[0]?.outcome).toBe('credited')
    expect(await countTransfers(reference)).toBe(1)
  })

  it('twenty times at once over HTTP makes one transfer', async () => {
    const send = () => automations.ach(automation, { amount: '9', reference: 'BURST' })
    const answers = await Promise.all(Array.from({ length: 20 }, send))
    const references = new Set(answers.map(({ body }) => body.bank_reference))
    expect(references.size).toBe(1)
    expect(await countTransfers([...references][0] ?? '')).toBe(1)
  })

  it('after a crash in the middle leaves no trace of the first time, and is accepted once', async () => {
    const reference = '20261101OUTL0000900002'
    const before = await settlement()
    const fails = async () => {
      throw new Error('The process ends here.')
    }
    const engine = { ...context.engine, transfers: { ...context.engine.transfers, enqueue: fails } }
    await expect(applyDeposit({ ...context, engine }, factOf(reference))).rejects.toThrow('ends here')
    expect(await countTransfers(reference)).toBe(0)
    expect(await settlement()).toBe(before)
    const first = await applyDeposit(context, factOf(reference))
    expect(await applyDeposit(context, factOf(reference))).toEqual(first)
    expect(await countTransfers(reference)).toBe(1)
    expect(await settlement()).toBe(before + 75)
  })

  it('after it was returned is returned again, even when the automation accepts deposits by then', async () => {
    const reference = '20261101OUTL0000900003'
    await automations.change(automation.id, { status: 'disabled' })
    const first = await applyDeposit(context, factOf(reference))
    await automations.change(automation.id, { status: 'active' })
    expect(await applyDeposit(context, factOf(reference))).toEqual(first)
    expect(first).toEqual({ outcome: 'returned', reason: 'automation_disabled' })
  })
})

describe('a deposit that is not accepted', () => {
  it.each(['disabled', 'archived'])('to an automation that is %s is returned and never minted', async (status) => {
    const closed = await automations.open()
    await automations.change(closed.id, { status })
    const before = [await balance(), await settlement()]
    const { body } = await automations.wire(closed, { amount: '40' })
    const reason = `automation_${status}`
    expect(body).toMatchObject({ status: 'returned', return_reason: reason, transfer_id: null })
    expect(await returned(body.bank_reference)).toEqual([{ automation_id: closed.id, return_reason: reason }])
    await automations.advance(60)
    expect(await automations.transfers(`automation_id=${closed.id}`)).toEqual([])
    expect([await balance(), await settlement()]).toEqual(before)
  })

  it('to a disabled automation that is enabled again is minted from then on', async () => {
    const resumed = await automations.open()
    await automations.change(resumed.id, { status: 'disabled' })
    await automations.change(resumed.id, { status: 'active' })
    expect((await automations.wire(resumed, { amount: '40' })).body.status).toBe('credited')
  })

  it('to an unknown account number is returned and recorded', async () => {
    const reference = '20261101OUTL0000900004'
    const verdict = await applyDeposit(context, factOf(reference, { accountNumber: '123456789012' }))
    expect(verdict).toEqual({ outcome: 'returned', reason: 'unknown_account' })
    expect(await returned(reference)).toEqual([{ automation_id: null, return_reason: 'unknown_account' }])
  })

  it('in another currency is returned, and one that is finer than a cent is held', async () => {
    const pesos = factOf('20261101OUTL0000900005', { amount: { value: '5', currency: 'MXN' } })
    expect(await applyDeposit(context, pesos)).toMatchObject({ reason: 'currency_mismatch' })
    const mills = factOf('20261101OUTL0000900006', { amount: { value: '5.001', currency: 'USD' } })
    expect(await applyDeposit(context, mills)).toEqual({ outcome: 'held', reason: 'unreadable' })
  })

  it('of an account that is no longer complete is returned', async () => {
    const setStatus = (status: string) =>
      api.call('POST', `/simulations/accounts/${api.accountId}/status`, { body: { status } })
    await setStatus('rejected')
    const verdict = await applyDeposit(context, factOf('20261101OUTL0000900007'))
    await setStatus('complete')
    expect(verdict).toEqual({ outcome: 'returned', reason: 'account_not_ready' })
  })

  it('cannot be simulated at an account number of another client, nor without an amount', async () => {
    const other = await api.sandbox.seedClient({ name: 'Other', accounts: [{ businessName: 'Other' }] })
    const form = { grant_type: 'client_credentials', client_id: other.clientId, client_secret: other.clientSecret }
    const granted = await fetch(`${api.sandbox.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
    const { access_token: token } = (await granted.json()) as { access_token: string }
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ account_number: automations.accountNumberOf(automation), amount: '1' })
    for (const rail of ['wires', 'ach-credits']) {
      const { status } = await fetch(`${api.sandbox.url}/simulations/${rail}`, { method: 'POST', headers, body })
      expect(status).toBe(404)
    }
    expect((await automations.wire(automation, { amount: '0' })).body.code).toBe('amount_not_positive')
    expect((await automations.ach(automation, {})).body.code).toBe('missing_field')
  })
})

it('every posting so far sums to zero, and every balance equals its entries', async () => {
  const { pool, schema } = context
  const unbalanced = await inspect(pool).query(
    `select posting_id, step, value_type from ${schema}.ledger_entry group by 1, 2, 3 having sum(amount) <> 0`,
  )
  const drifted = await inspect(pool).query(
    `select id from ${schema}.ledger_balance
      where kind = 'custodial' and (available <> entries_available or held <> entries_held)`,
  )
  const orphans = await inspect(pool).query(
    `select d.id from ${schema}.automation_deposit d
       left join ${schema}.transfer t on t.id = d.transfer_id
      where (d.transfer_id is not null) <> (t.id is not null)`,
  )
  expect([unbalanced.rows, drifted.rows, orphans.rows]).toEqual([[], [], []])
})
