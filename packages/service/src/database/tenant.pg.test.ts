import type { EventEmitter } from 'node:events'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { findPgBouncer, startPgBouncer } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sampleAccount } from '../../test/service.ts'
import { testTenants } from '../../test/tenants.ts'
import { createAccount, prepareAccount } from '../accounts/accounts.ts'
import { parseNewAccount } from '../accounts/input.ts'
import { createApp } from '../app.ts'
import { requireClient } from '../clients/authenticate.ts'
import { rotateClientSecret } from '../clients/clients.ts'
import { oauthRoutes } from '../clients/oauth-routes.ts'
import { inClientTransaction, inTransaction, type Tx } from '../context.ts'
import type { RouteModule } from '../http/request.ts'
import { run, statement } from './statement.ts'
import { asClient, asSystem } from './tenant.ts'

const database = await testDatabase({ role: 'ordinary' })
const tenants = await testTenants(database.url)
const [a, b] = tenants.clientIds
const pools: Pool[] = []
const open = (options: object = {}) => {
  const pool = new Pool({ connectionString: database.url, max: 4, ...options })
  pools.push(pool)
  return pool
}
const pool = open()
const context = { ...tenants.context, pool }
afterAll(() => Promise.all(pools.map((one) => one.end())))

const pgBouncer = await findPgBouncer()

const settings = statement(
  'settings',
  `select current_setting('outlay.client_id', true) as client, current_setting('outlay.system', true) as system`,
  rowDecoder('settings', { client: Column.nullable(Column.text), system: Column.nullable(Column.text) }),
)
const readId = rowDecoder('transfer', { id: Column.text })

describe('a query that does not name its tenant', () => {
  const forgetful = statement('forgetful', 'select id, account_id from {{schema}}.transfer', readId)
  const forgetfulChange = statement(
    'forgetful_change',
    `update {{schema}}.transfer set note = 'mine' returning id`,
    readId,
  )
  const routes: RouteModule = (app) => {
    app.get('/forgetful', async (c) => {
      const { clientId } = await requireClient(c, context, 'transfers:read')
      return c.json(await run(asClient(context, clientId), context, forgetful))
    })
    app.post('/forgetful', async (c) => {
      const { clientId } = await requireClient(c, context, 'transfers:write')
      return c.json(await inClientTransaction(context, clientId, (tx) => run(tx, context, forgetfulChange)))
    })
  }
  const { fetch } = createApp(context, [oauthRoutes, routes])

  const signIn = async (clientId: string) => {
    const { clientSecret } = await inTransaction(context, (tx) => rotateClientSecret(tx, context, clientId))
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    const answer = await fetch(new Request('http://test/oauth2/token', { method: 'POST', body }))
    return `Bearer ${((await answer.json()) as { access_token: string }).access_token}`
  }
  const transfersOf = async (clientId: string): Promise<readonly string[]> => {
    const { rows } = await inspect(pool).query(
      `select t.id from ${context.schema}.transfer t join ${context.schema}.client_account c using (account_id)
        where c.client_id = $1 order by t.id`,
      [clientId],
    )
    return rows.map(({ id }) => id)
  }
  const call = async (method: string, authorization: string): Promise<readonly string[]> => {
    const answer = await fetch(new Request('http://test/forgetful', { method, headers: { authorization } }))
    return ((await answer.json()) as { id: string }[]).map(({ id }) => id).sort()
  }

  it.each([a, b])('reads and changes what is the caller’s and nothing else, for %s', async (clientId) => {
    const authorization = await signIn(clientId)
    const own = await transfersOf(clientId)
    expect(own.length).toBeGreaterThan(1)
    expect(await call('GET', authorization)).toEqual(own)
    expect(await call('POST', authorization)).toEqual(own)
  })

  it('gets no rows directly on the pool', async () => {
    expect((await pool.query(`select from ${context.schema}.transfer`)).rowCount).toBe(0)
  })
})

describe('access of a client’s transaction beyond its own rows', () => {
  const seen = statement(
    'seen',
    'select account_id from {{schema}}.address',
    rowDecoder('address', { accountId: Column.text }),
  )
  const ownAccounts = async (clientId: string): Promise<readonly string[]> => {
    const text = `select account_id from ${context.schema}.client_account where client_id = $1`
    return (await inspect(pool).query(text, [clientId])).rows.map(({ account_id }) => account_id)
  }
  const expectOwnOnly = async (tx: Tx, own: readonly string[]) => {
    expect(await run(tx, context, settings)).toEqual([{ client: a, system: '' }])
    const accounts = (await run(tx, context, seen)).map(({ accountId }) => accountId)
    expect([...new Set(accounts)].sort()).toEqual([...own].sort())
  }

  it('ends when an account is registered', async () => {
    const account = parseNewAccount(sampleAccount)
    const own = await ownAccounts(a)
    const prepared = await prepareAccount(asSystem(context), context, { environment: 'mainnet' })
    await inClientTransaction(context, a, async (tx) => {
      const { id } = await createAccount(tx, context, { clientId: a, environment: 'mainnet' }, account, prepared)
      await expectOwnOnly(tx, [...own, id])
    })
  })

  it('ends when a payee is recognized, and shows only whose wallet it is', async () => {
    const text = `select account_id, id as address_id, address_normal as address from ${context.schema}.address
                   where type = 'internal' and 'base' = any (transfer_types) and account_id = any ($1)`
    const { rows } = await inspect(pool).query(text, [await ownAccounts(b)])
    const { address, ...wallet } = rows[0]
    const own = await ownAccounts(a)
    await inClientTransaction(context, a, async (tx) => {
      const recognize = statement(
        'recognize',
        `select * from {{schema}}.custodial_wallet('mainnet', $1, 'base')`,
        rowDecoder('wallet', { account_id: Column.text, address_id: Column.text }),
      )
      expect(await run(tx, context, recognize, [address])).toEqual([wallet])
      const open = statement(
        'open',
        'select {{schema}}.wallet_is_open($1, $2) as is_open',
        rowDecoder('wallet', { isOpen: Column.boolean }),
      )
      expect(await run(tx, context, open, [wallet.account_id, wallet.address_id])).toEqual([{ isOpen: true }])
      await expectOwnOnly(tx, own)
    })
  })

  it('ends with its transaction when it fails', async () => {
    const account = parseNewAccount(sampleAccount)
    const failing = inClientTransaction(context, a, async (tx) => {
      await tx.query('savepoint before')
      const owner = { clientId: 'nobody', environment: 'mainnet' } as const
      const refusal = await createAccount(tx, context, owner, account).catch((error) => error)
      await tx.query('rollback to before')
      await expectOwnOnly(tx, await ownAccounts(a))
      throw refusal
    })
    await expect(failing).rejects.toMatchObject({ code: '23503' })
  })
})

describe('single statements of a tenant', () => {
  const kinds: readonly (readonly [string, Pool])[] = [
    ['a connection', open({ max: 1 })],
    ['a connection that sends ahead', open({ max: 1, pipeline: true })],
    ['a connection that cannot send two statements at once', unknownKind(open({ max: 1 }))],
  ]

  describe.each(kinds)('on %s', (_, only) => {
    const on = { ...context, pool: only }

    it.each([true, false])('leave no setting behind, prepared: %s', async (prepared) => {
      for (let round = 0; round < 3; round += 1) {
        expect(await run(asClient(on, a), { ...on, prepared }, settings)).toMatchObject([{ client: a }])
        const { rows } = await only.query(settings.text)
        expect(rows[0].client || null).toBeNull()
        expect(await run(asSystem(on), { ...on, prepared }, settings)).toMatchObject([{ system: 'on' }])
        expect((await only.query(settings.text)).rows[0].system || null).toBeNull()
      }
    })

    it('never mix, however many are in flight', async () => {
      const clients = Array.from({ length: 200 }, (_one, at) => `client${at % 7}`)
      const seen = await Promise.all(clients.map((client) => run(asClient(on, client), on, settings)))
      expect(seen.map(([row]) => row?.client)).toEqual(clients)
    })

    it('accept values and return rows, types and refusals as usual', async () => {
      const typed = statement(
        'typed',
        'select $1::int as one, $2::text[] as many, 1 / $1 as whole',
        rowDecoder('answer', { one: Column.integer, many: Column.texts, whole: Column.integer }),
      )
      const of = (one: number) => run(asClient(on, a), on, typed, [one, ['x', 'y']])
      expect(await of(1)).toEqual([{ one: 1, many: ['x', 'y'], whole: 1 }])
      await expect(of(0)).rejects.toMatchObject({ code: '22012' })
      expect(await of(1)).toHaveLength(1)
    })

    it('can be sent again after the server refused to parse them', async () => {
      const late = statement('late', 'select * from late')
      const read = () => run(asClient(on, a), on, late)
      await expect(read()).rejects.toMatchObject({ code: '42P01' })
      await only.query('create table late (id int)')
      expect(await read()).toEqual([])
      expect(await read()).toEqual([])
      await only.query('drop table late')
    })

    it('write nothing when they fail', async () => {
      const own = statement(
        'own',
        `update {{schema}}.transfer set note = 'lost' where 1 / (case when id = '' then 1 else 0 end) = 1`,
      )
      await expect(run(asClient(on, a), on, own)).rejects.toMatchObject({ code: '22012' })
      const { rows } = await inspect(pool).query(`select from ${context.schema}.transfer where note = 'lost'`)
      expect(rows).toEqual([])
    })
  })

  it.skipIf(pgBouncer === undefined)('reach one server together behind PgBouncer', async () => {
    await using bouncer = await startPgBouncer({ url: database.url, poolSize: 3 })
    const pooled = { ...context, prepared: false, pool: new Pool({ connectionString: bouncer.url, max: 20 }) }
    const clients = Array.from({ length: 300 }, (_one, at) => `client${at % 7}`)
    const seen = await Promise.all(clients.map((client) => run(asClient(pooled, client), pooled, settings)))
    const left = await Promise.all(clients.map(() => pooled.pool.query(settings.text)))
    await pooled.pool.end()
    expect(seen.map(([row]) => row?.client)).toEqual(clients)
    expect(new Set(left.map(({ rows }) => rows[0].client || null))).toEqual(new Set([null]))
  })

  it('wait for one answer of the server, as without a tenant', async () => {
    const counted = open({ max: 1 })
    const client = await counted.connect()
    let answers = 0
    const { connection } = client as unknown as { readonly connection: EventEmitter }
    connection.on('readyForQuery', () => {
      answers += 1
    })
    client.release()
    await run(asClient({ pool: counted }, a), context, settings)
    await run(asSystem({ pool: counted }), context, settings)
    expect(answers).toBe(2)
  })
})

/** A pool whose clients are of an unknown kind. */
function unknownKind(given: Pool): Pool {
  return { connect: given.connect.bind(given), query: given.query.bind(given) } as unknown as Pool
}
