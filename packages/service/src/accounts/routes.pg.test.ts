import { Address, type ChainFamily, defaultCatalog, OutlayError } from '@outlay/core'
import { recordingLogger } from '@outlay/testing'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { sampleAccount, sampleBankAddress, testContext, testSchema, testService } from '../../test/service.ts'
import type { AddressResource } from '../addresses/view.ts'
import { inTransaction } from '../context.ts'
import type { RouteModule } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import { setAccountStatus } from './accounts.ts'

const { pool } = await serviceDatabase()

const logger = recordingLogger()
const service = testService(testContext({ pool, logger }))
const { token } = await service.signIn()

interface AddressPage {
  readonly addresses: readonly AddressResource[]
  readonly pagination: { readonly next: string | null; readonly prev: string | null }
}
const listWallets = async (accountId: string, as = token) =>
  (await service.call<AddressPage>(`/accounts/${accountId}/addresses?page[size]=100`, { token: as })).json.addresses

it('registers an account and masks ein and ssn except their last digits', async () => {
  const answer = await service.call('/accounts', { method: 'POST', token, key: 'register', body: sampleAccount })
  expect(answer.status).toBe(201)
  expect(answer.json).toMatchObject({
    status: 'complete',
    business_name: 'Acme Incorporated',
    ein: '**-***6789',
    ultimate_beneficial_owners: [{ name: 'Ada Roe', ssn: '***-**-4321' }],
  })
  expect(answer.json['id']).toMatch(/^[a-zA-Z0-9]{26}$/)
  const read = await service.call(`/accounts/${answer.json['id']}`, { token })
  expect(read.json).toEqual(answer.json)
  const replay = await service.call('/accounts', { method: 'POST', token, key: 'register', body: sampleAccount })
  expect(replay.text).toBe(answer.text)
})

it.each(['testnet', 'mainnet'] as const)(
  'creates a custodial wallet on every chain of %s, EVM first',
  async (environment) => {
    const owner = await service.signIn({ environment })
    const accountId = await service.createAccount(owner.token)
    const wallets = await listWallets(accountId, owner.token)
    const chains = defaultCatalog.transferTypes.filter(
      (one) => one.family !== 'bank' && one.environment === environment,
    )
    expect(wallets.flatMap((wallet) => wallet.transfer_types).sort()).toEqual(chains.map((one) => one.name).sort())
    expect(wallets[0]?.transfer_types).toEqual(chains.filter((one) => one.family === 'evm').map((one) => one.name))
    for (const wallet of wallets) {
      const family = defaultCatalog.transferType(wallet.transfer_types[0] ?? '')?.family as ChainFamily
      expect(Address.parse(family, wallet.address)).toBe(wallet.address)
      expect(wallet).toMatchObject({ type: 'internal', status: 'active', ownership: 'custodial' })
    }
  },
)

it('lists the client’s own account first, then the managed ones in order', async () => {
  const owner = await service.signIn()
  const ids = [await service.createAccount(owner.token), await service.createAccount(owner.token)]
  expect((await service.call('/accounts', { token: owner.token })).json).toEqual({ accounts: ids })
  const manager = await service.signIn({ accountIds: ids.toReversed() })
  expect((await service.call('/accounts', { token: manager.token })).json).toEqual({ accounts: ids.toReversed() })
})

it('answers 404 alike for a foreign, an unknown and a malformed account', async () => {
  const accountId = await service.createAccount(token)
  const stranger = await service.signIn()
  const problems = []
  for (const id of [accountId, '01ARZ3NDEKTSV4RRFFQ69G5FAV', 'short', "1' or '1'='1", '%00'])
    for (const path of [`/accounts/${id}`, `/accounts/${id}/addresses`, `/accounts/${id}/webhooks`]) {
      const { status, json } = await service.call(path, { token: stranger.token })
      problems.push([status, json['code'], json['detail']])
    }
  expect(new Set(problems.map((one) => JSON.stringify(one))).size).toBe(1)
  expect(problems[0]?.slice(0, 2)).toEqual([404, 'not_found'])
})

it('answers every unknown path with a JSON problem and a request id', async () => {
  for (const path of ['/nothing', '/accounts/a/b/c', '/']) {
    const answer = await service.call(path, { method: 'PUT', token })
    expect(answer.status).toBe(404)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('x-request-id')).toBe(answer.json['request_id'])
  }
})

it('keeps answers out of every cache, and says that they are what their type says', async () => {
  for (const answer of [await service.call('/accounts', { token }), await service.call('/nothing', { token })]) {
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  }
})

it('names every broken member of an account without quoting it', async () => {
  const { phone_number: _, ...rest } = sampleAccount
  const body = {
    ...rest,
    ein: '98-76543210',
    email: 'nobody',
    id: 'mine',
    ultimate_beneficial_owners: [{ name: 'Ada', ssn: '12' }],
  }
  const { status, json, text } = await service.call('/accounts', { method: 'POST', token, key: 'broken', body })
  expect(status).toBe(422)
  const issues = (json['errors'] as { code: string; source: { pointer: string } }[]).map((one) => [
    one.code,
    one.source.pointer,
  ])
  expect(issues).toEqual(
    expect.arrayContaining([
      ['response_only_field', '/id'],
      ['missing_field', '/phone_number'],
      ['invalid_request', '/ein'],
      ['invalid_request', '/email'],
      ['invalid_request', '/ultimate_beneficial_owners/0/ssn'],
      ['missing_field', '/ultimate_beneficial_owners/0/address'],
    ]),
  )
  expect(text).not.toContain('98-76543210')
})

it('opens the wallets of an account once its review is done', async () => {
  const review = testService(testContext({ pool, logger, completesAccounts: false }))
  const owner = await review.signIn()
  const accountId = await review.createAccount(owner.token)
  expect((await listWallets(accountId, owner.token)).map((one) => one.status)).not.toContain('active')
  const approve = () =>
    inTransaction(review.context, (tx) => setAccountStatus(tx, review.context, accountId, 'complete'))
  expect([await approve(), await approve()]).toEqual([true, false])
  expect((await review.call(`/accounts/${accountId}`, { token: owner.token })).json['status']).toBe('complete')
  expect((await listWallets(accountId, owner.token)).every((one) => one.status === 'active')).toBe(true)
})

it('answers 429 with Retry-After past the rate, to that client alone', async () => {
  const slow = testService(testContext({ pool, logger, rateLimit: { perSecond: 0.001, burst: 4 } }))
  const [one, other] = [await slow.signIn(), await slow.signIn()]
  const statuses = []
  for (let count = 0; count < 5; count += 1) statuses.push((await slow.call('/accounts', { token: one.token })).status)
  expect(statuses).toEqual([200, 200, 200, 429, 429])
  expect((await slow.call('/accounts', { token: one.token })).headers.get('retry-after')).toMatch(/^\d+$/)
  expect((await slow.call('/accounts', { token: other.token })).status).toBe(200)
})

it('keeps account_number, ssn and ein out of every table, answer, log and error', async () => {
  const failing: RouteModule = (app, context) => {
    app.post('/accounts/:account_id/failing', (c) =>
      createIdempotently(c, context, { scope: 'addresses:write' }, ({ body }) => async (tx) => {
        const { kind, value } = body as { kind: string; value: string }
        if (kind === 'sql')
          await tx.query(`insert into ${testSchema}.client (id, name) values ($1, $2)`, [value, value])
        throw kind === 'refusal'
          ? new OutlayError('invalid_account_number', 'No such account.')
          : new SyntaxError(value)
      }),
    )
  }
  const canaries = ['846-19-3751', '846193751', '31-9467258', '319467258', '70419385526617', '846193', '5526617']
  const [ssn = '', , ein = '', , accountNumber = ''] = canaries
  const canary = testService(testContext({ pool, logger }), [failing])
  const owner = await canary.signIn()
  const answers: string[] = []
  const post = async (path: string, body: unknown) => {
    const own = crypto.randomUUID()
    for (const key of ['same', 'same', 'other']) {
      const { text } = await canary.call(path, {
        method: 'POST',
        token: owner.token,
        key: `${own}-${key}`,
        body,
      })
      answers.push(text)
    }
  }
  const controller = { name: 'Bo', ssn, date_of_birth: '1980-01-01' }
  const owners = [{ ...sampleAccount.ultimate_beneficial_owners[0], ssn }]
  await post('/accounts', {
    ...sampleAccount,
    ein,
    ultimate_beneficial_owners: owners,
    business_controller: controller,
  })
  const accountId = await canary.createAccount(owner.token, { ein, ultimate_beneficial_owners: owners })
  const external = `/accounts/${accountId}/addresses/external`
  await post(external, { ...sampleBankAddress, account_number: accountNumber })
  await post(external, { ...sampleBankAddress, account_number: accountNumber, routing_number: '123456789' })
  await post(external, { ...sampleBankAddress, account_number: `${accountNumber}000000` })
  for (const kind of ['sql', 'refusal', 'error'])
    await post(`/accounts/${accountId}/failing`, { kind, value: accountNumber })
  for (const path of ['/addresses', `/accounts/${accountId}`])
    answers.push((await canary.call(path, { token: owner.token })).text)

  const { rows: tables } = await pool.query<{ table_name: string }>(
    `select table_name from information_schema.tables where table_schema = $1 and table_type = 'BASE TABLE'`,
    [testSchema],
  )
  expect(tables.length).toBeGreaterThan(5)
  for (const { table_name: table } of tables) {
    const { rows } = await inspect(pool).query(
      `select coalesce(json_agg(t)::text, '') as text from ${testSchema}."${table}" t`,
    )
    for (const one of canaries) expect(`${table}: ${rows[0].text}`).not.toContain(one)
  }
  const seen = answers.join('\n') + JSON.stringify(logger.entries)
  for (const one of canaries) expect(seen).not.toContain(one)
  expect(seen).toContain('****6617')
})
