import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestBankLinking, testBankLinking } from '../../test/bank-link.ts'
import { inspect } from '../../test/inspection.ts'
import { type Json, type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { AddressResource } from '../addresses/view.ts'
import type { FinancialInstitutionResource } from '../financial-institutions/financial-institutions.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 2 })
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

let numbers = 7_000_000_000
const account = (more: Json = {}): Json => {
  numbers += 1
  return { account_number: String(numbers), ...more }
}
const read = async <Body>(path: string) => (await api.call<Body>('GET', path)).body
const list = async () => {
  const path = `/accounts/${api.accountId}/financial-institutions`
  return (await read<{ financial_institutions: FinancialInstitutionResource[] }>(path)).financial_institutions
}
const dump = async (): Promise<string> => {
  const tables = ['address', 'bank_link_item', 'bank_link_exchange', 'simulated_bank_flow', 'simulated_bank_item']
  const rows = [...tables, 'idempotency_key', 'webhook_event', 'webhook_registration'].map((table) =>
    inspect(pool).query(`select json_agg(t)::text as text from outlay_service.${table} t`),
  )
  return (await Promise.all(rows)).map((result) => String(result.rows[0].text)).join('\n')
}

describe('a link token', () => {
  const person = {
    legal_name: 'Canary Wharton',
    email_address: 'canary@example.com',
    phone_number: '+1 555 0100',
    date_of_birth: '1990-02-28',
  }

  it.each(['banklink/link_token', 'financial-institutions/banklink/link_token'])(
    'is answered by %s with 200, its expiration and where the public token goes',
    async (path) => {
      const answer = await api.call('POST', `/accounts/${api.accountId}/${path}`, { body: person })
      expect(answer.status).toBe(200)
      expect(Object.keys(answer.body)).toEqual(['link_token', 'expiration', 'callback_url'])
      expect(answer.body['link_token']).toMatch(/^link-sandbox-/)
      expect(new Date(String(answer.body['expiration'])).toISOString()).toBe(answer.body['expiration'])
      expect(Date.parse(String(answer.body['expiration']))).toBeGreaterThan(Date.now())
      expect(answer.body['callback_url']).toBe(
        `${api.sandbox.url}/accounts/${api.accountId}/financial-institutions/register-account`,
      )
      expect(await dump()).not.toMatch(/Canary|canary/)
    },
  )

  it('can be requested without a body, because every member is optional', async () => {
    const path = `/accounts/${api.accountId}/banklink/link_token`
    expect((await api.call('POST', path)).status).toBe(200)
    expect((await api.call('POST', path, { body: {} })).status).toBe(200)
  })

  it('is refused with a member that breaks its rule', async () => {
    const path = `/accounts/${api.accountId}/banklink/link_token`
    const answer = await api.call('POST', path, { body: { date_of_birth: '28.02.1990' } })
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ errors: [{ source: { pointer: '/date_of_birth' } }] })
  })

  it('opens a flow once', async () => {
    const linkToken = await bank.linkToken()
    await bank.complete(linkToken)
    const again = await api.call('POST', `/simulations/bank-links/${linkToken}/complete`, { body: {} })
    expect(again.status).toBe(409)
  })

  it('that does not exist is not found', async () => {
    const path = '/simulations/bank-links/link-sandbox-none/complete'
    expect((await api.call('POST', path, { body: {} })).status).toBe(404)
  })
})

describe('registering', () => {
  it('creates a bank address for ACH debits and credits, shown alike here and there, and masked', async () => {
    const given = account({ name: 'Everyday', owner: 'Jane Roe', routing_number: '021000021' })
    const answer = await bank.register(await bank.complete(await bank.linkToken(), [given]))
    expect(answer.status).toBe(201)
    expect(Object.keys(answer.body)).toEqual(['address_id', 'financial_institution_id'])
    const { financial_institution_id: id } = answer.body
    expect(answer.body.address_id).toBe(id)
    expect(answer.headers.get('location')).toBe(`${api.sandbox.url}/accounts/${api.accountId}/addresses/${id}`)
    const masked = `****${String(given['account_number']).slice(-4)}`
    const place = { street_line_1: '1 Sandbox Plaza', city: 'Chicago', state: 'IL', zip: '60601', country: 'US' }
    const institution = await bank.institution(id)
    expect(institution).toEqual({
      id,
      name: 'Everyday',
      status: 'active',
      transfer_type: ['ach_debit', 'ach_credit'],
      bank_details: {
        owner: 'Jane Roe',
        account_number: masked,
        routing_number: '021000021',
        name: 'Outlay Simulated Bank',
        account_type: 'checking',
        address: place,
        bank_address: place,
        beneficiary_address: place,
      },
    })
    expect(await list()).toContainEqual(institution)
    const address = await read<AddressResource>(`/accounts/${api.accountId}/addresses/${id}`)
    expect(address).toMatchObject({
      id,
      type: 'external',
      status: 'active',
      name: 'Everyday',
      owner: 'Jane Roe',
      account_number: masked,
      routing_number: '021000021',
      transfer_types: ['ach_debit', 'ach_credit'],
    })
    const { addresses } = await read<{ addresses: AddressResource[] }>('/addresses?type=external&page[size]=100')
    expect(addresses).toContainEqual(address)
    const state = await bank.state(id)
    expect(Object.keys(state)).toEqual(['status', 'last_updated', 'financial_institution_id', 'needs_update'])
    expect(state).toMatchObject({ status: 'active', financial_institution_id: id, needs_update: false })
  })

  it('creates one financial institution per selected bank account, and names them all', async () => {
    const accounts = [account({ name: 'One' }), account({ name: 'Two', account_type: 'savings' })]
    const { body } = await bank.register(await bank.complete(await bank.linkToken(), accounts))
    expect(body.financial_institution_ids).toHaveLength(2)
    expect(body.financial_institution_id).toBe(body.financial_institution_ids?.[0])
    const [one, two] = await Promise.all((body.financial_institution_ids ?? []).map(bank.institution))
    expect(one).toMatchObject({ name: 'One', bank_details: { account_type: 'checking' } })
    expect(two).toMatchObject({ name: 'Two', bank_details: { account_type: 'savings' } })
  })

  it('keeps the id of a bank account that is linked again, and updates it', async () => {
    const given = account({ owner: 'Jane Roe' })
    const id = await bank.link([given])
    const before = await bank.state(id)
    expect(await bank.link([{ ...given, owner: 'Jane Roe-Doe' }])).toBe(id)
    expect((await bank.institution(id)).bank_details.owner).toBe('Jane Roe-Doe')
    expect(Date.parse((await bank.state(id)).last_updated)).toBeGreaterThanOrEqual(Date.parse(before.last_updated))
    expect((await list()).filter((one) => one.id === id)).toHaveLength(1)
  })

  it('keeps the id and the rails of a bank account that was entered by hand', async () => {
    const given = account({ routing_number: '021000021' })
    const place = { street_line_1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' }
    const body = {
      name: 'Mine',
      owner: 'Acme',
      account_type: 'checking',
      bank_address: place,
      transfer_types: ['wire'],
    }
    const path = `/accounts/${api.accountId}/addresses/external`
    const manual = await api.call('POST', path, { body: { ...given, ...body, beneficiary_address: place } })
    expect(await bank.link([given])).toBe(manual.body['id'])
    const found = await bank.institution(String(manual.body['id']))
    expect(found).toMatchObject({ name: 'Mine', transfer_type: ['wire', 'ach_debit', 'ach_credit'] })
  })

  it('makes one financial institution of ten requests with one public token, and ten equal answers', async () => {
    const before = (await list()).length
    const publicToken = await bank.complete(await bank.linkToken(), [account()])
    const answers = await Promise.all(Array.from({ length: 10 }, () => bank.register(publicToken)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201))
    expect(new Set(answers.map(({ body }) => body.financial_institution_id)).size).toBe(1)
    expect(await list()).toHaveLength(before + 1)
  })

  it('makes one financial institution of one bank account that ten flows select at once', async () => {
    const before = (await list()).length
    const given = account()
    const ids = await Promise.all(Array.from({ length: 10 }, () => bank.link([given])))
    expect(new Set(ids).size).toBe(1)
    expect(await list()).toHaveLength(before + 1)
  })

  it('needs an idempotency key, and replays its answer', async () => {
    const publicToken = await bank.complete(await bank.linkToken())
    const path = `/accounts/${api.accountId}/financial-institutions/register-account`
    const bare = await api.call('POST', path, { body: { public_token: publicToken }, key: '' })
    expect(bare.status).toBe(400)
    expect(bare.body['code']).toBe('idempotency_key_missing')
    const first = await bank.register(publicToken, {}, 'register-once')
    const second = await bank.register(publicToken, {}, 'register-once')
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect((await bank.register('other', {}, 'register-once')).body.code).toBe('idempotency_key_mismatch')
  })

  it('refuses a public token that the provider does not know', async () => {
    const refused = await bank.register('public-sandbox-none')
    expect(refused.status).toBe(422)
    expect(refused.headers.has('location')).toBe(false)
    expect(refused.body.errors).toMatchObject([{ source: { pointer: '/public_token' } }])
    expect((await bank.register('')).status).toBe(422)
  })

  it('refuses a flow in which nothing was selected', async () => {
    expect((await bank.register(await bank.complete(await bank.linkToken(), []))).status).toBe(422)
  })

  it('refuses the public token of another account, which stays valid for its owner', async () => {
    const publicToken = await bank.complete(await bank.linkToken())
    const path = `/accounts/${api.otherAccountId}/financial-institutions/register-account`
    const foreign = await api.call('POST', path, { body: { public_token: publicToken } })
    expect(foreign.status).toBe(422)
    expect((await bank.register(publicToken)).status).toBe(201)
    const after = await api.call('POST', path, { body: { public_token: publicToken } })
    expect(after.status).toBe(422)
  })

  it('does not lose a public token to a URL that is refused', async () => {
    const publicToken = await bank.complete(await bank.linkToken())
    const refused = await bank.register(publicToken, { customer_webhook_url: 'ftp://example.com' })
    expect(refused.body.errors).toMatchObject([{ source: { pointer: '/customer_webhook_url' } }])
    expect((await bank.register(publicToken)).status).toBe(201)
  })

  it('answers under the new location of the endpoints too', async () => {
    const publicToken = await bank.complete(await bank.linkToken())
    const path = `/accounts/${api.accountId}/banklink/register-account`
    expect((await api.call('POST', path, { body: { public_token: publicToken } })).status).toBe(201)
  })

  it('stores no account number, access token or public token in plain text', async () => {
    const given = account({ account_number: '918273645546' })
    const publicToken = await bank.complete(await bank.linkToken(), [given])
    const id = await bank.link([given])
    await bank.register(publicToken)
    await bank.requireLogin(id)
    const text = await dump()
    expect(text).toContain(id)
    expect(text).not.toContain('918273645546')
    expect(text).not.toContain(publicToken)
    expect(text).not.toMatch(/access-sandbox-/)
  })
})
