import { startSandbox } from '@outlay/service/sandbox'
import { addresses, waitUntil } from '@outlay/testing'
import { openSubject, type ServiceSubject } from '@outlay/testing/conformance/cases'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { toOptions } from './account.ts'

const postal = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }

const leg = (addressId: string, valueType: string, transferType: string) => ({
  address_id: addressId,
  value_type: valueType,
  transfer_type: transferType,
})

const banksOpen = 8 * 86_400

describe('a business, from its registration to the return of a payment', async () => {
  const database = await testDatabase({ role: 'ordinary' })
  const sandbox = await startSandbox({ databaseUrl: database.url })
  afterAll(() => sandbox.stop())

  it('registers, links, deposits, mints, swaps, pays out, redeems, gets a return and logs in again', async () => {
    const client = await sandbox.seedClient({ name: 'Acme', accounts: [{ businessName: 'Acme Platform' }] })
    const platform = await openSubject(toOptions(sandbox.url, client))
    const business = await registerBusiness(platform)

    const institutionId = await linkBank(business)
    await depositIntoAutomation(business, '400.00')
    expect(await holdings(business)).toEqual({ 'USDC base': '400.00' })

    await settle(business, await pullFromBank(business, institutionId, '100.00'), banksOpen)
    expect(await holdings(business)).toEqual({ 'USDC base': '500.00' })

    for (const chain of ['solana', 'stellar']) await mintByWire(business, chain, '50.00')
    await swap(business, '120.00')
    expect(await holdings(business)).toEqual({
      'SBC base': '120.00',
      'USDC base': '380.00',
      'USDC solana': '50.00',
      'USDC stellar': '50.00',
    })

    await payOut(business, 'base', addresses.evm[0], '30.00')
    await payOut(business, 'solana', addresses.solana[0], '20.00')
    await payOut(business, 'stellar', addresses.stellar[0], '10.00')

    const redeemed = await redeemByAch(business, '80.00')
    const spent = { 'SBC base': '120.00', 'USDC solana': '30.00', 'USDC stellar': '40.00' }
    expect(await holdings(business)).toEqual({ ...spent, 'USDC base': '270.00' })
    await simulate(business, `/transfers/${redeemed}/return`, { code: 'R03' })
    expect(await holdings(business)).toEqual({ ...spent, 'USDC base': '350.00' })

    await logInAgain(business, institutionId)
    await settle(business, await pullFromBank(business, institutionId, '25.00'), banksOpen)
    expect(await holdings(business)).toEqual({ ...spent, 'USDC base': '375.00' })
    expect(await statement(business)).toEqual({ complete: 10 })
  })
})

async function registerBusiness(platform: ServiceSubject): Promise<ServiceSubject> {
  const body = {
    business_name: 'Roe Holdings Incorporated',
    ein: '12-3456789',
    address: postal,
    phone_number: '+12175550100',
    email: 'finance@roe.example',
    website: 'https://roe.example',
    ultimate_beneficial_owners: [{ name: 'Ada Roe', ssn: '987-65-4321', address: postal }],
  }
  const registered = await platform.call<{ id: string }>('POST', '/accounts', { body })
  expect(registered.status).toBe(201)
  return openSubject({ ...platform.options, accountId: registered.json.id })
}

async function linkBank(business: ServiceSubject): Promise<string> {
  const opened = await business.call('POST', business.at('/banklink/link_token'), { body: { legal_name: 'Ada Roe' } })
  expect(opened.status).toBe(200)
  return registerAccount(business, String(opened.json['link_token']))
}

async function registerAccount(business: ServiceSubject, linkToken: string): Promise<string> {
  const { public_token: publicToken } = await simulate(business, `/bank-links/${linkToken}/complete`, {})
  const body = { public_token: publicToken }
  const answer = await business.call('POST', business.at('/financial-institutions/register-account'), { body })
  expect(answer.status).toBe(201)
  return String(answer.json['financial_institution_id'])
}

async function depositIntoAutomation(business: ServiceSubject, amount: string): Promise<void> {
  const destination = leg(await business.wallet('base'), 'USDC', 'base')
  const body = { name: 'Customers', source: { value_type: 'USD' }, destination }
  const { json } = await business.call<{ id: string }>('POST', business.at('/automations'), { body })
  const accountNumber = await waitUntil(async () => {
    const read = await business.call<{ source: { funding_instructions: { account_number: string } | null } }>(
      'GET',
      business.at(`/automations/${json.id}`),
    )
    return read.json.source.funding_instructions?.account_number
  })
  await simulate(business, '/wires', { account_number: accountNumber, amount, sender_name: 'Globex' })
  const transferId = await waitUntil(async () => {
    const query = { automation_id: json.id }
    const list = await business.call<{ transfers: { id: string }[] }>('GET', business.at('/transfers'), { query })
    return list.json.transfers[0]?.id
  })
  await settle(business, transferId)
}

async function pullFromBank(business: ServiceSubject, institutionId: string, value: string): Promise<string> {
  const source = leg(institutionId, 'USD', 'ach_debit')
  const destination = leg(await business.wallet('base'), 'USDC', 'base')
  return (await business.created({ amount: { value, currency: 'USD' }, source, destination })).id
}

async function mintByWire(business: ServiceSubject, chain: string, value: string): Promise<void> {
  const source = { value_type: 'USD', transfer_type: 'wire' }
  const destination = leg(await business.wallet(chain), 'USDC', chain)
  const transfer = await business.created({ amount: { value, currency: 'USD' }, source, destination })
  expect(transfer.status).toBe('pending')
  await simulate(business, '/wires', { memo: transfer.wire_instructions?.['memo'], amount: value })
  await settle(business, transfer.id)
}

async function swap(business: ServiceSubject, value: string): Promise<void> {
  const walletId = await business.wallet('base')
  const [source, destination] = [leg(walletId, 'USDC', 'base'), leg(walletId, 'SBC', 'base')]
  await settle(business, (await business.created({ amount: { value, currency: 'USDC' }, source, destination })).id)
}

async function payOut(business: ServiceSubject, chain: string, address: string, value: string): Promise<void> {
  const payee = await business.register({ name: 'Supplier', address, transfer_types: [chain] })
  const source = leg(await business.wallet(chain), 'USDC', chain)
  const body = { amount: { value, currency: 'USDC' }, source, destination: leg(payee, 'USDC', chain) }
  await settle(business, (await business.created(body)).id)
}

async function redeemByAch(business: ServiceSubject, value: string): Promise<string> {
  const bank = await business.register({
    owner: 'Roe Holdings Incorporated',
    name: 'Operating account',
    account_number: '445566778877',
    routing_number: '021000021',
    account_type: 'checking',
    bank_address: postal,
    beneficiary_address: postal,
    transfer_types: ['ach_credit'],
  })
  const source = leg(await business.wallet('base'), 'USDC', 'base')
  const destination = leg(bank, 'USD', 'ach_credit')
  const { id } = await business.created({ amount: { value, currency: 'USD' }, source, destination, note: 'payroll' })
  await settle(business, id, banksOpen)
  return id
}

async function logInAgain(business: ServiceSubject, institutionId: string): Promise<void> {
  await simulate(business, `/financial-institutions/${institutionId}/login-required`, {})
  const path = business.at(`/financial-institutions/${institutionId}`)
  expect((await business.call('GET', `${path}/status`)).json['needs_update']).toBe(true)
  const opened = await business.call('POST', `${path}/update-link-token`, { body: {} })
  expect(await registerAccount(business, String(opened.json['link_token']))).toBe(institutionId)
  expect((await business.call('GET', `${path}/status`)).json['needs_update']).toBe(false)
}

async function settle(business: ServiceSubject, transferId: string, seconds = 60): Promise<void> {
  await business.reaches(transferId, 'processing')
  await business.advance(seconds)
  await business.reaches(transferId, 'complete')
}

async function simulate(business: ServiceSubject, path: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await business.call('POST', `/simulations${path}`, { body, key: null })
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.json
}

/** The balances of the business's wallets, by value type and chain. */
async function holdings(business: ServiceSubject): Promise<Record<string, string>> {
  const { json } = await business.call<{
    balances: { value_type: string; transfer_type: string; balance: { value: string }; available: { value: string } }[]
  }>('GET', business.at('/balances'))
  for (const { balance, available } of json.balances) expect(available).toEqual(balance)
  return Object.fromEntries(
    json.balances.map(({ value_type, transfer_type, balance }) => [`${value_type} ${transfer_type}`, balance.value]),
  )
}

/** How many transfers the business has in each status. */
async function statement(business: ServiceSubject): Promise<Record<string, number>> {
  const query = { 'page[size]': '100' }
  const { json } = await business.call<{ transfers: { status: string }[] }>('GET', business.at('/transfers'), { query })
  const count: Record<string, number> = {}
  for (const { status } of json.transfers) count[status] = (count[status] ?? 0) + 1
  return count
}
