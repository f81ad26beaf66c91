import pg, { type Pool, type QueryResult } from 'pg'
import type { Executor, ExecutorQuery } from './statement.ts'
import { findTenantQuery, type TenantSetting } from './tenant-query.ts'

/** Whose rows a statement may access: those of one client's accounts, or those of all tenants. */
export type Tenant = { readonly clientId: string } | 'system'

/** Runs single statements that can access only the rows of one client. One round trip each. */
export function asClient(context: { readonly pool: Pool }, clientId: string): Executor {
  return executorOf(context.pool, { clientId })
}

/** Runs single statements on the rows of all tenants: for workers, and to authenticate callers. One round trip each. */
export function asSystem(context: { readonly pool: Pool }): Executor {
  return executorOf(context.pool, 'system')
}

/** The text that begins a transaction of a tenant, in one message. */
export function beginAs(tenant: Tenant): string {
  const [name, value] = settingOf(tenant)
  return `begin; set local ${name} = ${pg.escapeLiteral(value)}`
}

/** The text that lets a whole session act as the system, for migrations, and the one that ends it. */
export const systemSession = {
  begin: `select set_config('outlay.system', 'on', false)`,
  end: `select set_config('outlay.system', '', false)`,
} as const

function settingOf(tenant: Tenant): TenantSetting {
  return tenant === 'system' ? ['outlay.system', 'on'] : ['outlay.client_id', tenant.clientId]
}

function executorOf(pool: Pool, tenant: Tenant): Executor {
  const TenantQuery = findTenantQuery(pool)
  if (TenantQuery === undefined) return { send: (query) => queryInTransaction(pool, tenant, query) }
  const setting = settingOf(tenant)
  // A pool accepts an object that submits itself, and resolves with its result. Only the types of clients say so.
  const submit = pool.query.bind(pool) as unknown as (query: object) => Promise<QueryResult>
  return { send: (query) => submit(new TenantQuery(query, setting)) }
}

/** The same in three round trips, for a pool whose clients cannot send two statements at once. */
async function queryInTransaction(pool: Pool, tenant: Tenant, query: ExecutorQuery) {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query(beginAs(tenant))
    const result = await client.query({ ...query, values: [...query.values] })
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure
    })
    throw error
  } finally {
    client.release(broken)
  }
}
