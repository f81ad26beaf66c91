import { type PgDriverOptions, pgDriver, postgres } from '@outlay/adapters-pg'
import { knexDriver } from '@outlay/adapters-pg/knex'
import { createEngine, type Engine, type EnqueueRequest, OutlayError } from '@outlay/core'
import { rowDecoder } from '@outlay/core/adapter'
import { createClient, httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import knex from 'knex'
import { Pool, type PoolClient } from 'pg'

const pool = new Pool()
const options: PgDriverOptions = { prepared: false }
const credentials = { clientId: 'a', clientSecret: 'b' }
const baseUrl = 'https://service.example.com'
const gateway = httpGateway({ baseUrl, credentials, keyLifetimeMs: outlayKeyLifetimeMs })

export const engine: Engine<PoolClient> = createEngine({
  backend: postgres({ driver: pgDriver(pool, options) }),
  gateway,
})
export const other = createEngine({ backend: postgres({ driver: knexDriver(knex({ client: 'pg' })) }), gateway })
export const client = createClient({ baseUrl, credentials })
export const decode: unknown = rowDecoder
export const isRefusal = (error: unknown): boolean => OutlayError.is(error)

export async function pay(tx: PoolClient, request: EnqueueRequest): Promise<string> {
  const { id } = await engine.transfers.enqueue(tx, request)
  // @ts-expect-error: a pool is no transaction.
  await engine.transfers.enqueue(pool, request)
  return id
}
