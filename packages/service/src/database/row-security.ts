import type { ServiceContext } from '../context.ts'

/**
 * Warns when no policy applies to the role of the service: then only its statements isolate tenants. Simulated rails have no
 * tenants to protect, so the log level is debug there.
 */
export async function reportUnboundRole(
  context: Pick<ServiceContext, 'pool' | 'logger'>,
  isSimulated: boolean,
): Promise<void> {
  const { rows } = await context.pool.query(
    'select rolsuper or rolbypassrls as unbound from pg_roles where rolname = current_user',
  )
  if (rows[0]?.unbound !== true) return
  const message = 'The database role is above row-level security; give the service an ordinary role.'
  context.logger[isSimulated ? 'debug' : 'warn']({}, message)
}
