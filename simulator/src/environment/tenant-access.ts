import type { Environment } from './environment.ts'
import type { Tenant } from './tenant.ts'

/** The service removes the account from every client that may use it. */
export async function revoke({ service }: Pick<Environment, 'service'>, tenant: Tenant): Promise<string> {
  await service.query('delete from outlay_service.client_account where account_id = $1', [tenant.accountId])
  tenant.isRevoked = true
  return ''
}

/** The service gives the account back. */
export async function grant({ service }: Pick<Environment, 'service'>, tenant: Tenant): Promise<string> {
  tenant.isRevoked = false
  await service.query(
    `insert into outlay_service.client_account (client_id, account_id, created_at)
     select c.id, $1, now() from unnest($2::text[]) as c (id) on conflict do nothing`,
    [tenant.accountId, tenant.clientIds],
  )
  return ''
}
