import { beforeAll, describe, expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { createApp } from '../app.ts'
import { mostExamined } from '../database/examined-page.ts'
import { tokensRoutes } from '../tokens/routes.ts'
import { transfersRoutes } from '../transfers/routes.ts'
import { webhooksRoutes } from '../webhooks/routes.ts'

// Lists in which the only row that a filter matches is the last one.

const { pool } = await serviceDatabase()
const context = testContext({ pool })
const routes = [transfersRoutes, tokensRoutes]
const service = testService(context, routes)
/** Its answers are those of another document. */
const inPublic = createApp(testContext({ pool, secrets: context.secrets, dialect: 'public' }), [webhooksRoutes])
type Fetch = (request: Request) => Promise<Response>
const { query } = inspect(pool)

/** Rows of each list: two pages of what is examined, and a few more. */
const many = 2 * mostExamined + 10
const idOf = (prefix: string, n: number) => `${prefix}${String(n).padStart(26 - prefix.length, '0')}`
const idIn = (prefix: string) => `'${prefix}' || lpad(n::text, ${26 - prefix.length}, '0')`
const rare = { address: idOf('01RARE', 1), event: idOf('01EVENT', 1), automation: idOf('01AUT', 1) }
let token: string
let account: string
let other: string
let webhook: string
beforeAll(async () => {
  token = (await service.signIn({ environment: 'mainnet' })).token
  account = await service.createAccount(token)
  other = await service.createAccount(token)
  webhook = idOf('01H00K', 1)
  await query(
    `insert into ${testSchema}.transfer
       (id, account_id, status, flow, amount_value, amount_currency, source_address_id, source_value_type, source_transfer_type,
        destination_address_id, destination_value_type, destination_transfer_type, automation_id, plan, reference_legs, created_at, updated_at)
     select ${idIn('01TRA')}, $1, case n when 1 then 'canceled' else 'complete' end, 'payout', 1, 'USDC', $2,
            case n when 1 then 'SBC' else 'USDC' end, case n when 1 then 'polygon' else 'base' end,
            case n when 1 then $3 else $2 end, 'USDC', 'base', $4, '{}', 'none', now(), now()
       from generate_series(1, $5::int) n`,
    [account, idOf('01ADDR', 1), rare.address, rare.automation, many],
  )
  await query(
    `insert into ${testSchema}.address
       (id, account_id, environment, type, kind, family, status, name, address, address_normal, transfer_types, created_at, updated_at)
     select ${idIn('02ADD')}, $1, 'mainnet', 'external', 'wallet', 'evm', 'active', 'Payee', 'a' || n, 'a' || n,
            case n when $2::int then array['stellar'] else array['base'] end, now(), now()
       from generate_series(1, $2::int) n`,
    [account, many],
  )
  await query(
    `insert into ${testSchema}.webhook_registration (id, account_id, url, event_types, status, secret, created_at, updated_at)
     values ($1, $2, 'https://host.example/', '{*}', 'active', 's', now(), now())`,
    [webhook, account],
  )
  await query(
    `insert into ${testSchema}.webhook_event (id, account_id, type, body, created_at)
     select ${idIn('01EVENT')}, $1, 'transfer.created', '{}', now() from generate_series(1, 2) n`,
    [account],
  )
  await query(
    `insert into ${testSchema}.webhook_delivery (registration_id, event_id, account_id, status, attempts, last_attempt_at, created_at)
     select $1, case n when 1 then $2 else $3 end, $4, case n when 1 then 'failed' else 'delivered' end, 1, now(), now()
       from generate_series(1, $5::int) n`,
    [webhook, rare.event, idOf('01EVENT', 2), account, many],
  )
  await query(
    `insert into ${testSchema}.webhook_delivery_attempt (delivery_id, account_id, attempt_number, status, attempted_at)
     select id, account_id, 1, status, now() from ${testSchema}.webhook_delivery order by id`,
  )
  await query(`analyze`)
})

interface Page {
  readonly pagination: { readonly next: string | null; readonly prev: string | null }
}

/** The pages of a list in one direction, from its beginning or from a cursor. */
async function walk(
  of: { readonly fetch: Fetch },
  path: string,
  name: string,
  direction: 'next' | 'prev',
  from?: string | null,
) {
  const pages: (readonly { readonly id: string }[])[] = []
  let cursor = from
  let page: Page | undefined
  do {
    const at = cursor == null ? '' : `&page[${direction === 'next' ? 'after' : 'prev'}]=${cursor}`
    const request = new Request(`http://test${path}${at}`, { headers: { authorization: `Bearer ${token}` } })
    const answer = await of.fetch(request)
    const json = (await answer.json()) as Page & Record<string, { id: string }[]>
    expect(answer.status, JSON.stringify(json)).toBe(200)
    page = json
    pages.push(json[name] ?? [])
    cursor = page.pagination[direction]
  } while (cursor !== null)
  return { sizes: pages.map(({ length }) => length), ids: pages.flat().map(({ id }) => id), last: page.pagination }
}

const transfers = () => `/accounts/${account}/transfers?page[size]=10`
const first = idOf('01TRA', 1)

describe.each<[string, () => string, string, { readonly fetch: Fetch }, () => readonly string[]]>([
  ['transfers by status', () => `${transfers()}&status=canceled`, 'transfers', service, () => [first]],
  ['transfers by value type', () => `${transfers()}&value_type=SBC`, 'transfers', service, () => [first]],
  ['transfers by transfer type', () => `${transfers()}&transfer_type=polygon`, 'transfers', service, () => [first]],
  ['transfers by address', () => `${transfers()}&address_id=${rare.address}`, 'transfers', service, () => [first]],
  [
    'transfers of an automation',
    () => `${transfers()}&automation_id=${rare.automation}&status=canceled`,
    'transfers',
    service,
    () => [first],
  ],
  ['transfers that do not exist', () => `${transfers()}&status=failed`, 'transfers', service, () => []],
  [
    'addresses of an account',
    () => `/accounts/${account}/addresses?type=external&transfer_type=stellar&page[size]=10`,
    'addresses',
    service,
    () => [idOf('02ADD', many)],
  ],
  [
    'deliveries by status',
    () => `/accounts/${account}/webhooks/deliveries?status=failed&page[size]=10`,
    'deliveries',
    service,
    () => ['1'],
  ],
  [
    'deliveries of a webhook by status',
    () => `/accounts/${account}/webhooks/deliveries?status=failed&subscription_id=${webhook}&page[size]=10`,
    'deliveries',
    service,
    () => ['1'],
  ],
  [
    'attempts of deliveries',
    () => `/accounts/${account}/webhooks/deliveries?event_id=${rare.event}&page[size]=10`,
    'deliveries',
    inPublic,
    () => ['1'],
  ],
])('a page of %s', (_, path, name, of, expected) => {
  it('examines a bounded number of rows, and its cursors lead to the only match and back', async () => {
    const forward = await walk(of, path(), name, 'next')
    expect(forward.ids).toEqual(expected())
    expect(forward.sizes).toEqual([0, 0, expected().length])
    const back = await walk(of, path(), name, 'prev', forward.last.prev)
    // Of an empty page, the way back leads over the rows that it has examined.
    expect(back.ids).toEqual([])
    expect(back.sizes.length).toBeGreaterThan(1)
    expect((await walk(of, path(), name, 'next', back.last.next)).ids).toEqual(expected())
  })
})

describe('a list with an index for its filter', () => {
  const one = async (path: string, name: string) => {
    const { sizes, ids } = await walk(service, path, name, 'next')
    return [sizes, ids]
  }

  it('finds deliveries of an event, an address, and wallets at once', async () => {
    expect(await one(`/accounts/${account}/webhooks/deliveries?event_id=${rare.event}`, 'deliveries')).toEqual([
      [1],
      ['1'],
    ])
    expect(await one(`/accounts/${account}/addresses?type=external&address=a${many}`, 'addresses')).toEqual([
      [1],
      [idOf('02ADD', many)],
    ])
    expect((await one(`/accounts/${account}/addresses?page[size]=100`, 'addresses'))[0]).toEqual([5])
    expect((await one(`/addresses?type=internal&page[size]=100`, 'addresses'))[0]).toEqual([10])
  })

  it('has no cursor where a page without a filter ends the list', async () => {
    const { sizes } = await walk(
      service,
      `/accounts/${account}/webhooks/deliveries?page[size]=100`,
      'deliveries',
      'next',
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(many)
    expect(sizes).not.toContain(0)
  })
})

it('the list of all accounts has each address once, account by account, forward and back', async () => {
  const path = `/addresses?page[size]=100`
  const forward = await walk(service, path, 'addresses', 'next')
  expect(new Set(forward.ids).size).toBe(forward.ids.length)
  expect(forward.ids.length).toBe(many + 10)
  const rows = await query(`select account_id from ${testSchema}.address order by account_id, id`)
  expect(rows.rows[0].account_id).toBe(account < other ? account : other)
  const last = await service.call<Page & { addresses: { id: string }[] }>(`/addresses?page[size]=100&type=internal`, {
    token,
  })
  expect(last.json.addresses).toHaveLength(10)
  const rareOnes = await walk(service, '/addresses?transfer_type=stellar&type=external', 'addresses', 'next')
  expect(rareOnes.ids).toEqual([idOf('02ADD', many)])
  expect(rareOnes.sizes.length).toBeGreaterThan(2)
  const back = await walk(service, path, 'addresses', 'prev', forward.last.prev)
  expect(new Set([...back.ids, ...forward.ids.slice(-(forward.sizes.at(-1) ?? 0))])).toEqual(new Set(forward.ids))
})

it('moves of tokens of all accounts are the newest ones of any of them', async () => {
  await query(
    `insert into ${testSchema}.transfer
       (id, account_id, status, flow, amount_value, amount_currency, source_value_type, source_transfer_type,
        destination_address_id, destination_value_type, destination_transfer_type, plan, reference_legs, created_at, updated_at)
     select ${idIn('01SWA')}, $1, 'complete', 'swap', 1, 'USDC', 'USDC', 'base', $2, 'SBC', 'base', '{}', 'none', now(), now()
       from generate_series(1, 250) n`,
    [other, idOf('01ADDR', 1)],
  )
  const forward = await walk(service, '/tokens/transfers?page[size]=100', 'transfers', 'next')
  const { rows } = await query(
    `select id from ${testSchema}.transfer where flow in ('swap', 'payout') order by id desc`,
  )
  expect(forward.ids).toEqual(rows.map(({ id }) => id))
  const back = await walk(service, '/tokens/transfers?page[size]=100', 'transfers', 'prev', forward.last.prev)
  expect(back.sizes.reduce((sum, size) => sum + size, 0)).toBe(rows.length - (forward.sizes.at(-1) ?? 0))
})
