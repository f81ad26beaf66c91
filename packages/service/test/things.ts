import { manualClock, recordingLogger } from '@outlay/testing'
import type { ServiceContext } from '../src/context.ts'
import { beginAs } from '../src/database/tenant.ts'
import type { RouteModule } from '../src/http/request.ts'
import { createIdempotently } from '../src/idempotency/idempotent.ts'
import { serviceDatabase } from './database.ts'
import { type Call, testContext, testSchema, testService } from './service.ts'

interface PostCall extends Omit<Call, 'key'> {
  readonly at?: string
  readonly key?: string | undefined
}

/** Makes a service with resources of its own, `things` and `others`, whose creates write a row and may then fail. */
export async function thingsService() {
  const { pool } = await serviceDatabase()
  await pool.query('create table effect (id bigint generated always as identity, name text)')
  /** What the next effect with this name throws, after it wrote. */
  const failures = new Map<string, () => unknown>()
  const routes: RouteModule = (app, context) => {
    for (const path of ['/accounts/:account_id/things', '/accounts/:account_id/others'])
      app.post(path, (c) =>
        createIdempotently(c, context, { scope: 'transfers:write' }, ({ body }) => async (tx) => {
          const { name } = body as { name: string }
          const { rows } = await tx.query<{ id: string }>('insert into effect (name) values ($1) returning id', [name])
          const failure = failures.get(name)
          if (failure !== undefined) throw failure()
          return { id: rows[0]?.id, name }
        }),
      )
  }
  const logger = recordingLogger()
  const context = testContext({ pool, clock: manualClock(), logger, tokenCacheMs: 0 })
  /** Another process of the service. */
  const open = (parts: Partial<ServiceContext> = {}) =>
    testService(
      Object.assign(Object.defineProperties({}, Object.getOwnPropertyDescriptors(context)) as typeof context, parts),
      [routes],
    )
  const service = open()
  const { token, clientId } = await service.signIn()
  const accountId = await service.createAccount(token)
  const path = `/accounts/${accountId}/things`
  /** Creates a thing, by default under a new key; `key: undefined` sends none. */
  const post = ({ at = path, ...call }: PostCall = {}, of = service) =>
    of.call(at, { method: 'POST', token, key: crypto.randomUUID(), body: { name: 'one' }, ...call } as Call)
  /** Does something while another request, which does not end, has the key. */
  async function whileHeld<T>(key: string, work: () => Promise<T>): Promise<T> {
    const blocker = await pool.connect()
    try {
      await blocker.query(beginAs('system'))
      await blocker.query(
        `insert into ${testSchema}.idempotency_key (client_id, idempotency_key, fingerprint, created_at) values ($1, $2, '', now())`,
        [clientId, key],
      )
      return await work()
    } finally {
      await blocker.query('rollback')
      blocker.release()
    }
  }
  return { pool, logger, failures, service, open, post, whileHeld, token, clientId, accountId, path }
}
