import { beforeAll, describe, expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { balancesRoutes } from '../balances/routes.ts'
import { transfersRoutes } from '../transfers/routes.ts'

const { pool } = await serviceDatabase()
const context = testContext({ pool })
const services = {
  specification: testService(context, [transfersRoutes, balancesRoutes]),
  public: testService(testContext({ pool, secrets: context.secrets, dialect: 'public' }), [
    transfersRoutes,
    balancesRoutes,
  ]),
}
let token: string
let path: string
beforeAll(async () => {
  token = (await services.specification.signIn({ environment: 'mainnet' })).token
  const accountId = await services.specification.createAccount(token)
  path = `/accounts/${accountId}`
  await inspect(pool).query(
    `insert into ${testSchema}.transfer
       (id, account_id, status, flow, amount_value, amount_currency, source_value_type, source_transfer_type,
        destination_address_id, destination_value_type, destination_transfer_type, plan, reference_legs, created_at, updated_at)
     values ($1, $2, 'complete', 'payout', 1, 'USDC', 'USDC', 'base', $3, 'USDC', 'base', '{}', 'none', now(), now())`,
    ['01TRA000000000000000000001', accountId, '01ADDR00000000000000000001'],
  )
  await inspect(pool).query(
    `insert into ${testSchema}.ledger_account (kind, account_id, address_id, value_type, transfer_type, available)
     select 'custodial', account_id, id, 'USDC', 'base', 5 from ${testSchema}.address
      where account_id = $1 and 'base' = any (transfer_types)`,
    [accountId],
  )
})

const countIn = async (dialect: keyof typeof services, query: string) => {
  const answer = await services[dialect].call<Record<string, unknown[]>>(`${path}${query}`, { token })
  expect(answer.status, answer.text).toBe(200)
  return Object.values(answer.json)[0]?.length
}

describe.each([
  ['/transfers?value_type=', 'USDC', 'usdc'],
  ['/transfers?transfer_type=', 'base', 'Base'],
  ['/addresses?type=internal&transfer_type=', 'base', 'BASE'],
  ['/balances?value_type=', 'USDC', 'Usdc'],
  ['/balances?transfer_type=', 'base', 'Base'],
])('the filter %s', (query, name, spelled) => {
  it('matches exactly by the specification, and any known spelling in the public dialect', async () => {
    expect(await countIn('specification', query + name)).toBe(1)
    expect(await countIn('public', query + name)).toBe(1)
    expect(await countIn('specification', query + spelled)).toBe(0)
    expect(await countIn('public', query + spelled)).toBe(1)
  })

  it('matches nothing for a name that nobody knows', async () => {
    expect(await countIn('specification', `${query}gold`)).toBe(0)
    expect(await countIn('public', `${query}gold`)).toBe(0)
  })
})

it.each([
  ['/transfers?status=', 'status', 'pending, processing, failed, canceled, complete', ['complete']],
  ['/addresses?type=', 'type', 'internal, external', ['internal', 'external']],
  ['/webhooks/deliveries?status=', 'status', 'pending, delivered, failed, canceled', ['failed']],
])(
  'the filter %s is refused for a word that is none of its own, in both dialects',
  async (query, name, choices, words) => {
    for (const service of Object.values(services)) {
      for (const word of words) expect((await service.call(`${path}${query}${word}`, { token })).status).toBe(200)
      for (const word of ['nothing', words[0]?.toUpperCase(), '']) {
        const { status, json } = await service.call(`${path}${query}${word}`, { token })
        expect([status, json['code']]).toEqual([422, 'invalid_request'])
        expect(json['errors']).toMatchObject([{ source: { parameter: name } }])
        for (const choice of choices.split(', ')) expect(json['detail']).toContain(choice)
      }
    }
  },
)
