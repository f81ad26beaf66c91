import type { ServiceContext } from '../context.ts'

/**
 * Warns when no policy binds the role of the service: then its statements alone keep tenants apart. Simulated rails have
 * no tenants to protect, so there it is worth a word for who debugs.
 */
export async function reportUnboundRole(
  context: Pick<ServiceContext, 'pool' | 'logger'>,
  isSimulated: boolean,
): Promise<void> {
  const { rows } = await context.pool.query<{ unbound: boolean }>(
    'select rolsuper or rolbypassrls as unbound from pg_roles where rolname = current_user',
  )
  if (rows[0]?.unbound !== true) return
  const message = 'The database role is above row-level security; give the service an ordinary role.'
  context.logger[isSimulated ? 'debug' : 'warn']({}, message)
}
