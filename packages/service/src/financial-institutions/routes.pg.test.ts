import { describe, expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { type Answer, sampleBankAddress, testContext, testSchema, testService } from '../../test/service.ts'
import { financialInstitutionsRoutes } from './routes.ts'

const { pool } = await serviceDatabase()
const context = testContext({ pool })
const service = testService(context, [financialInstitutionsRoutes])
const { token } = await service.signIn()
const accountId = await service.createAccount(token)
const path = `/accounts/${accountId}/financial-institutions`

const place = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }
const manual = {
  owner: 'Jane Roe',
  account_number: '112233445566',
  routing_number: '021000021',
  beneficiary_address: { ...place, city: 'Shelbyville' },
  bank_address: place,
  account_type: 'checking',
}
let keys = 0
const create = (body: unknown, key?: string): Promise<Answer> => {
  keys += 1
  return service.call(`${path}/external`, { method: 'POST', token, key: key ?? `fi-${keys}`, body })
}

describe('a financial institution that is entered by hand', () => {
  it('is created with owner, numbers, addresses and account type, and is a bank address', async () => {
    const created = await create(manual)
    expect(created.status).toBe(201)
    const id = String(created.json['id'])
    expect(created.json).toEqual({
      id,
      name: 'Jane Roe',
      status: 'active',
      transfer_type: ['ach_debit', 'ach_credit', 'wire', 'rtp'],
      bank_details: {
        owner: 'Jane Roe',
        account_number: '****5566',
        routing_number: '021000021',
        name: 'Jane Roe',
        account_type: 'checking',
        address: place,
        bank_address: place,
        beneficiary_address: { ...place, city: 'Shelbyville' },
      },
    })
    expect((await service.call(`${path}/${id}`, { token })).json).toEqual(created.json)
    const address = await service.call(`/accounts/${accountId}/addresses/${id}`, { token })
    expect(address.json).toMatchObject({ id, type: 'external', owner: 'Jane Roe', account_number: '****5566' })
    expect((await service.call(`${path}/${id}/status`, { token })).json).toEqual({
      status: 'active',
      last_updated: address.json['created'],
      financial_institution_id: id,
      needs_update: false,
    })
  })

  it('needs an idempotency key, and replays the same octets, which are stored sealed', async () => {
    const bare = await service.call(`${path}/external`, { method: 'POST', token, body: manual })
    expect(bare.status).toBe(400)
    const first = await create({ ...manual, owner: 'Canary Owner' }, 'fi-replayed')
    const second = await create({ ...manual, owner: 'Canary Owner' }, 'fi-replayed')
    expect(second.text).toBe(first.text)
    expect((await create(manual, 'fi-replayed')).json['code']).toBe('idempotency_key_mismatch')
    const { rows } = await inspect(pool).query(`select json_agg(k)::text as text from ${testSchema}.idempotency_key k`)
    expect(rows[0].text).not.toContain('Canary')
    const { rows: stored } = await inspect(pool).query(`select json_agg(a)::text as text from ${testSchema}.address a`)
    expect(stored[0].text).toContain('Canary')
    expect(stored[0].text).not.toContain('112233445566')
  })

  it('accepts a numeric routing number', async () => {
    const created = await create({ ...manual, routing_number: 21_000_021 })
    expect(created.json['bank_details']).toMatchObject({ routing_number: '021000021' })
  })

  it('is refused with every broken member named', async () => {
    const refused = await create({ ...manual, account_number: '12', routing_number: '123456789', account_type: 'x' })
    expect(refused.status).toBe(422)
    expect(refused.json['code']).toBe('invalid_account_number')
    const errors = refused.json['errors'] as { source: { pointer: string } }[]
    expect(errors.map(({ source }) => source.pointer)).toEqual(['/account_number', '/routing_number', '/account_type'])
    const empty = (await create({})).json['errors'] as { source: { pointer: string } }[]
    expect(empty.map(({ source }) => source.pointer).toSorted()).toEqual(
      Object.keys(manual)
        .map((name) => `/${name}`)
        .toSorted(),
    )
    expect((await create([])).status).toBe(422)
    expect((await create({ address: '0x52908400098527886E0F7030069857D2E4169EE7', name: 'x' })).status).toBe(422)
  })
})

describe('the list of financial institutions', () => {
  it('is empty for an account without any, which is no error', async () => {
    const other = await service.createAccount(token)
    const answer = await service.call(`/accounts/${other}/financial-institutions`, { token })
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual({ financial_institutions: [] })
  })

  it('shows bank addresses however they were registered, and no wallet', async () => {
    const other = await service.createAccount(token)
    const body = { ...sampleBankAddress, name: 'Supplier' }
    const address = `/accounts/${other}/addresses/external`
    const { json } = await service.call(address, { method: 'POST', token, key: 'fi-as-address', body })
    const wallet = {
      name: 'Wallet',
      address: '0x52908400098527886E0F7030069857D2E4169EE7',
      transfer_types: ['sepolia'],
    }
    const made = await service.call(address, { method: 'POST', token, key: 'fi-wallet', body: wallet })
    expect(made.status).toBe(201)
    const list = await service.call<{ financial_institutions: { id: string }[] }>(
      `/accounts/${other}/financial-institutions`,
      { token },
    )
    expect(list.json.financial_institutions).toMatchObject([{ id: json['id'], name: 'Supplier', status: 'active' }])
    const asInstitution = await service.call(`/accounts/${other}/financial-institutions/${made.json['id']}`, { token })
    expect(asInstitution.status).toBe(404)
  })

  it('shows when an address is archived', async () => {
    const { json } = await create({ ...manual, account_number: '99887766' })
    const body = { status: 'archived' }
    await service.call(`/addresses/${json['id']}`, { method: 'PATCH', token, body })
    const state = await service.call(`${path}/${json['id']}/status`, { token })
    expect(state.json).toMatchObject({ status: 'archived', needs_update: false })
  })
})

describe('access', () => {
  it('answers 404 for what is unknown, malformed or of another account', async () => {
    const other = await service.createAccount(token)
    const { json } = await create(manual)
    for (const id of ['01J00000000000000000000000', 'x', json['id']]) {
      const account = id === json['id'] ? other : accountId
      for (const rest of ['', '/status']) {
        const answer = await service.call(`/accounts/${account}/financial-institutions/${id}${rest}`, { token })
        expect(answer.status).toBe(404)
        expect(answer.json['code']).toBe('not_found')
      }
    }
  })

  it('requires the scopes of financial institutions', async () => {
    const { token: reader } = await service.signIn({ scopes: ['financial-institutions:read'], accountIds: [accountId] })
    expect((await service.call(path, { token: reader })).status).toBe(200)
    const write = { method: 'POST', token: reader, key: 'fi-forbidden', body: manual }
    expect((await service.call(`${path}/external`, write)).status).toBe(403)
    const { token: writer } = await service.signIn({ scopes: ['addresses:read'], accountIds: [accountId] })
    expect((await service.call(path, { token: writer })).status).toBe(403)
    expect((await service.call(path)).status).toBe(401)
  })
})
