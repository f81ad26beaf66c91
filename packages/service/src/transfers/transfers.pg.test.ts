import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { BalanceResource } from '../balances/balances.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
beforeAll(async () => {
  api = await testSandbox(database.url, [
    { valueType: 'USDC', transferType: 'base', amount: '100000' },
    { valueType: 'YSBC', transferType: 'base', amount: '100000' },
    { valueType: 'USDC', transferType: 'canton', amount: '1000' },
  ])
})
afterAll(() => api.stop())

const usd = (value: string) => ({ value, currency: 'USD' })
const address = { street_line_1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' }

const addBank = async (accountNumber: string, transferTypes: readonly string[]): Promise<string> => {
  const body = {
    owner: 'Jane Roe',
    name: `Bank ${accountNumber}`,
    account_number: accountNumber,
    routing_number: '021000021',
    account_type: 'checking',
    bank_address: address,
    beneficiary_address: address,
    transfer_types: transferTypes,
  }
  const answer = await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })
  expect(answer.status).toBe(201)
  return answer.body.id
}

const addWallet = async (onchain: string, transferTypes: readonly string[]): Promise<string> => {
  const body = { name: 'Payee', address: onchain, transfer_types: transferTypes }
  const answer = await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })
  expect(answer.body).toHaveProperty('id')
  return answer.body.id
}

const create = (body: unknown, key?: string) =>
  api.call<TransferResource & { code?: string; errors?: { source: { pointer: string } }[] }>(
    'POST',
    `/accounts/${api.accountId}/transfers`,
    key === undefined ? { body } : { body, key },
  )
const read = async (id: string): Promise<TransferResource> =>
  (await api.call<TransferResource>('GET', `/accounts/${api.accountId}/transfers/${id}`)).body
const reaches = (id: string, status: string): Promise<TransferResource> =>
  vi.waitFor(
    async () => {
      const transfer = await read(id)
      expect(transfer.status).toBe(status)
      return transfer
    },
    { timeout: 60_000, interval: 25 },
  )
const advance = (seconds: number) => api.call('POST', '/simulations/clock/advance', { body: { seconds } })
const balance = async (valueType: string, transferType = 'base') => {
  const path = `/accounts/${api.accountId}/addresses/${api.walletId}/balance?value_type=${valueType}&transfer_type=${transferType}`
  const { body } = await api.call<BalanceResource>('GET', path)
  return { balance: Number(body.balance.value), available: Number(body.available.value) }
}
const wallet = (valueType: string) => ({ address_id: api.walletId, value_type: valueType, transfer_type: 'base' })

describe('a wire offramp', () => {
  it('holds the money, completes after two hours with an IMAD, and burns', async () => {
    const bank = await addBank('000111222', ['wire'])
    const before = await balance('USDC')
    const destination = { address_id: bank, value_type: 'USD', transfer_type: 'wire', wire_memo: 'INV-42' }
    const created = await create({ amount: usd('1250.00'), source: wallet('USDC'), destination, note: 'rent' })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({ status: 'pending', failure: null, note: 'rent', amount: usd('1250.00') })
    expect(created.body.destination).toEqual(destination)
    expect(await balance('USDC')).toEqual({ balance: before.balance, available: before.available - 1250 })

    const processing = await reaches(created.body.id, 'processing')
    expect(processing.destination.transaction_id).toMatch(/^\d{8}[A-Z0-9]{8}\d{6}$/)
    expect(processing.destination.payment_details).toBeUndefined()
    await advance(7_199)
    expect((await read(created.body.id)).status).toBe('processing')
    await advance(60)
    const complete = await reaches(created.body.id, 'complete')
    expect(complete.destination.payment_details).toEqual({ imad: complete.destination.transaction_id })
    expect(complete.source.transaction_id).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await balance('USDC')).toEqual({
      balance: before.balance - 1250,
      available: before.available - 1250,
    })
  })

  it('that the other bank refuses returns the money', async () => {
    const bank = await addBank('00010500', ['wire'])
    const before = await balance('USDC')
    const destination = { address_id: bank, value_type: 'USD', transfer_type: 'wire' }
    const { body } = await create({ amount: usd('10'), source: wallet('USDC'), destination })
    await reaches(body.id, 'processing')
    await advance(7_200)
    const failed = await reaches(body.id, 'failed')
    expect(failed.failure).toMatchObject({ type: 'rejected', code: 'beneficiary_bank_rejected', retriable: false })
    expect(await balance('USDC')).toEqual(before)
  })
})

describe('an ACH offramp', () => {
  it('completes after two banking days with a trace number, and a return after that credits the wallet', async () => {
    const bank = await addBank('000111333', ['ach_credit'])
    const destination = { address_id: bank, value_type: 'USD', transfer_type: 'ach_credit' }
    const { body } = await create({ amount: usd('10'), source: wallet('USDC'), destination })
    expect((await reaches(body.id, 'processing')).destination.transaction_id).toMatch(/^\d{15}$/)
    await advance(6 * 86_400)
    await reaches(body.id, 'complete')
    const before = await balance('USDC')
    await api.call('POST', `/simulations/transfers/${body.id}/return`, { body: { code: 'R03' } })
    expect(await balance('USDC')).toEqual({ balance: before.balance + 10, available: before.available + 10 })
    expect((await read(body.id)).status).toBe('complete')
  })

  it('that is returned fails with the return code and returns the money', async () => {
    const bank = await addBank('0001110003', ['ach_credit'])
    const before = await balance('USDC')
    const destination = { address_id: bank, value_type: 'USD', transfer_type: 'same_day_ach_credit' }
    const { body } = await create({ amount: usd('10'), source: wallet('USDC'), destination })
    await reaches(body.id, 'processing')
    await advance(6 * 86_400)
    const failed = await reaches(body.id, 'failed')
    expect(failed.failure).toMatchObject({ type: 'returned', code: 'R03', ach_return: { code: 'R03' } })
    expect(await balance('USDC')).toEqual(before)
  })

  it('to a magic account number is refused at creation', async () => {
    const bank = await addBank('0001110422', ['ach_credit'])
    const destination = { address_id: bank, value_type: 'USD', transfer_type: 'ach_credit' }
    const refused = await create({ amount: usd('10'), source: wallet('USDC'), destination })
    expect(refused.status).toBe(422)
    expect(refused.body.code).toBe('invalid_account_number')
  })
})

describe('an onramp', () => {
  it('by wire gives instructions, waits for the wire, and mints', async () => {
    const before = await balance('USDC')
    const source = { value_type: 'USD', transfer_type: 'wire' }
    const { body } = await create({ amount: usd('500.00'), source, destination: wallet('USDC') })
    expect(body.wire_instructions).toMatchObject({ beneficiary_name: 'Acme Payments LLC', memo: body.id })
    expect(body.status).toBe('pending')
    const wire = { memo: body.id, amount: '500', sender_name: 'Globex' }
    expect((await api.call('POST', '/simulations/wires', { body: wire })).status).toBe(202)
    const processing = await reaches(body.id, 'processing')
    expect(processing.source.payment_details).toMatchObject({ sender_name: 'Globex' })
    expect(processing.source.transaction_id).toBe(processing.source.payment_details?.['imad'])
    await advance(30)
    const complete = await reaches(body.id, 'complete')
    expect(complete.destination.transaction_id).toMatch(/^0x/)
    expect(await balance('USDC')).toEqual({ balance: before.balance + 500, available: before.available + 500 })
  })

  it.each(['address_id', 'addressId'])(
    'by wire from an account of its own is refused at %s, since nobody sends it',
    async (member) => {
      const before = await balance('USDC')
      const bank = await addBank(member === 'addressId' ? '000333445' : '000333444', ['wire', 'ach_debit'])
      const source = { [member]: bank, value_type: 'USD', transfer_type: 'wire' }
      const refused = await create({ amount: usd('500.00'), source, destination: wallet('USDC') })
      expect([refused.status, refused.body.code]).toEqual([422, 'unsupported_flow'])
      expect(refused.body.errors?.[0]?.source.pointer).toBe(`/source/${member}`)
      await advance(86_400)
      expect(await balance('USDC')).toEqual(before)
    },
  )

  it('by ACH debit completes after three banking days, or fails when the debit bounces', async () => {
    const before = await balance('USDC')
    const good = await addBank('000222333', ['ach_debit'])
    const bad = await addBank('0002220001', ['ach_debit'])
    const source = (id: string) => ({ address_id: id, value_type: 'USD', transfer_type: 'ach_debit' })
    const first = await create({ amount: usd('50'), source: source(good), destination: wallet('USDC') })
    const second = await create({ amount: usd('60'), source: source(bad), destination: wallet('USDC') })
    expect((await reaches(first.body.id, 'processing')).source.transaction_id).toMatch(/^\d{15}$/)
    await reaches(second.body.id, 'processing')
    await advance(8 * 86_400)
    await reaches(first.body.id, 'complete')
    // The bank presents such a debit again, days later, before it fails finally.
    const failed = await vi.waitFor(
      async () => {
        await advance(86_400)
        const transfer = await read(second.body.id)
        expect(transfer.failure).toMatchObject({ retriable: false })
        return transfer
      },
      { timeout: 60_000, interval: 25 },
    )
    expect(failed).toMatchObject({ status: 'failed', failure: { code: 'R01' } })
    expect((await balance('USDC')).balance).toBe(before.balance + 50)
  })

  it('by ACH debit above 50,000 USD is refused with its field', async () => {
    const bank = await addBank('000222444', ['ach_debit'])
    const source = { address_id: bank, value_type: 'USD', transfer_type: 'ach_debit' }
    const refused = await create({ amount: usd('50000.01'), source, destination: wallet('USDC') })
    expect([refused.status, refused.body.code]).toEqual([422, 'ach_limit_exceeded'])
    expect(refused.body.errors?.[0]?.source.pointer).toBe('/amount/value')
  })
})

describe('between chains and wallets', () => {
  it('a swap burns one token and mints the other, one to one', async () => {
    const [from, to] = [await balance('USDC'), await balance('SBC')]
    const { body } = await create({
      amount: { value: '70', currency: 'USDC' },
      source: wallet('USDC'),
      destination: wallet('SBC'),
    })
    expect(body).toHaveProperty('id')
    await reaches(body.id, 'processing')
    await advance(10)
    const complete = await reaches(body.id, 'complete')
    expect(complete.source.transaction_id).toBe(complete.destination.transaction_id)
    expect((await balance('USDC')).balance).toBe(from.balance - 70)
    expect((await balance('SBC')).balance).toBe(to.balance + 70)
  })

  it('a payout of another value type goes out in the camelCase form of the singular path', async () => {
    const before = await balance('YSBC')
    const payee = await addWallet('0x52908400098527886E0F7030069857D2E4169EE7', ['base'])
    const body = {
      amount: { value: '12.50', currency: 'USDC' },
      source: { addressId: api.walletId, valueType: 'YSBC', transferType: 'Base' },
      destination: { addressId: payee, valueType: 'USDC', transferType: 'base' },
    }
    const created = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfer`, { body })
    expect(created.status).toBe(201)
    await reaches(created.body.id, 'processing')
    await advance(30)
    await reaches(created.body.id, 'complete')
    expect((await balance('YSBC')).balance).toBe(before.balance - 12.5)
  })

  it('a payout to an address that another account has here credits that account', async () => {
    const payee = await addWallet(api.otherWallet.address, ['base'])
    const destination = { address_id: payee, value_type: 'USDC', transfer_type: 'base' }
    const amount = { value: '3', currency: 'USDC' }
    const { body } = await create({ amount, source: wallet('USDC'), destination })
    await reaches(body.id, 'processing')
    await advance(30)
    await reaches(body.id, 'complete')
    const { body: held } = await api.call<{ balances: BalanceResource[] }>(
      'GET',
      `/accounts/${api.otherAccountId}/balances`,
    )
    expect(held.balances).toMatchObject([{ balance: { value: '3.00', currency: 'USDC' }, transfer_type: 'base' }])
  })

  it('a payment whose first answer is lost is sent once', async () => {
    const payee = await addWallet('0xde709f2102306220921060314715629080e2fb77', ['base'])
    const destination = { address_id: payee, value_type: 'USDC', transfer_type: 'base' }
    const { body } = await create({
      amount: { value: '6660.02', currency: 'USDC' },
      source: wallet('USDC'),
      destination,
    })
    await reaches(body.id, 'processing')
    await advance(30)
    await reaches(body.id, 'complete')
  })
})

describe('a refusal', () => {
  it('for lack of money names the field, changes nothing, and the same key works after a deposit', async () => {
    const before = await balance('PYUSD')
    const payee = await addWallet('0x27b1fdb04752bbc536007a920d24acb045561c26', ['base'])
    const body = {
      amount: { value: '40', currency: 'PYUSD' },
      source: wallet('PYUSD'),
      destination: { address_id: payee, value_type: 'PYUSD', transfer_type: 'base' },
    }
    const refused = await create(body, 'retry-after-funding')
    expect([refused.status, refused.body.code]).toEqual([422, 'insufficient_balance'])
    expect(await balance('PYUSD')).toEqual(before)
    const money = {
      account_id: api.accountId,
      ...wallet('PYUSD'),
      amount: { value: '40', currency: 'PYUSD' },
    }
    expect((await api.call('POST', '/simulations/deposits', { body: money })).status).toBe(201)
    const created = await create(body, 'retry-after-funding')
    expect(created.status).toBe(201)
    expect(await balance('PYUSD')).toEqual({ balance: 40, available: 0 })
    const replayed = await create(body, 'retry-after-funding')
    expect(replayed.body).toEqual(created.body)
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
  })

  it.each([
    ['an unknown source', { address_id: '0'.repeat(26), value_type: 'USDC', transfer_type: 'base' }, 'invalid_address'],
    ['a chain that is not listed', { value_type: 'USDC', transfer_type: 'solana' }, 'transfer_type_not_supported'],
  ])('for %s names the member', async (_name, source, code) => {
    const bank = await addBank('000999888', ['wire'])
    const destination = { address_id: bank, value_type: 'USD', transfer_type: 'wire' }
    const refused = await create({ amount: usd('1'), source: { address_id: api.walletId, ...source }, destination })
    expect([refused.status, refused.body.code]).toEqual([422, code])
    expect(refused.body.errors?.[0]?.source.pointer).toMatch(/^\/source\//)
  })

  it('for an account that is not complete says so, and the same key works once it is', async () => {
    const bank = await addBank('000999777', ['wire'])
    const destination = { address_id: bank, value_type: 'USD', transfer_type: 'wire' }
    const body = { amount: usd('1'), source: wallet('USDC'), destination }
    const setStatus = (status: string) =>
      api.call('POST', `/simulations/accounts/${api.accountId}/status`, { body: { status } })
    await setStatus('pending')
    expect((await create(body, 'after-review')).body.code).toBe('account_not_ready')
    await setStatus('complete')
    expect((await create(body, 'after-review')).status).toBe(201)
  })

  it('for the balance of an external address is a clear one', async () => {
    const payee = await addWallet('0x8617E340B3D01FA5F11F306F4090FD50E238070D', ['base'])
    const path = `/accounts/${api.accountId}/addresses/${payee}/balance?value_type=USDC&transfer_type=base`
    const refused = await api.call('GET', path)
    expect(refused.status).toBe(422)
    expect(refused.body['code']).toBe('balance_not_available')
  })

  it('for a foreign or malformed transfer id is a 404', async () => {
    for (const id of ['nonsense', '0'.repeat(26)]) {
      expect((await api.call('GET', `/accounts/${api.accountId}/transfers/${id}`)).status).toBe(404)
    }
  })
})
