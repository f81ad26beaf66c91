import type { Pool as NeonPool } from '@neondatabase/serverless'
import { postgres } from '@outlay/adapters-pg'
import { drizzleNeonDriver } from '@outlay/adapters-pg/drizzle-neon'
import { drizzlePostgresJsDriver } from '@outlay/adapters-pg/drizzle-postgres-js'
import { neonDriver } from '@outlay/adapters-pg/neon'
import { postgresJsDriver } from '@outlay/adapters-pg/postgres-js'
import { sequelizeDriver } from '@outlay/adapters-pg/sequelize'
import { typeormDriver } from '@outlay/adapters-pg/typeorm'
import { createEngine, type EnqueueRequest, type Gateway } from '@outlay/core'
import { drizzle as drizzleOnNeon } from 'drizzle-orm/neon-serverless'
import { drizzle } from 'drizzle-orm/postgres-js'
import type { Pool } from 'pg'
import type { Sql } from 'postgres'
import type { Sequelize } from 'sequelize'
import type { DataSource } from 'typeorm'

export async function payWithTypeorm(dataSource: DataSource, gateway: Gateway, request: EnqueueRequest): Promise<void> {
  const engine = createEngine({ backend: postgres({ driver: typeormDriver(dataSource) }), gateway })
  await dataSource.transaction((tx) => engine.transfers.enqueue(tx, request))
  // @ts-expect-error: a data source is no transaction.
  await engine.transfers.enqueue(dataSource, request)
}

export async function payWithPostgresJs(
  sql: Sql,
  pool: Pool,
  gateway: Gateway,
  request: EnqueueRequest,
): Promise<void> {
  const engine = createEngine({ backend: postgres({ driver: postgresJsDriver({ sql, pool }) }), gateway })
  await sql.begin((tx) => engine.transfers.enqueue(tx, request))
  // @ts-expect-error: an instance is no transaction.
  await engine.transfers.enqueue(sql, request)
  const db = drizzle({ client: sql })
  const other = createEngine({ backend: postgres({ driver: drizzlePostgresJsDriver({ db, pool }) }), gateway })
  await db.transaction((tx) => other.transfers.enqueue(tx, request))
}

export async function payWithNeon(pool: NeonPool, gateway: Gateway, request: EnqueueRequest): Promise<void> {
  const engine = createEngine({ backend: postgres({ driver: neonDriver(pool) }), gateway })
  const client = await pool.connect()
  await client.query('begin')
  await engine.transfers.enqueue(client, request)
  await client.query('commit')
  client.release()
  // @ts-expect-error: a pool is no transaction.
  await engine.transfers.enqueue(pool, request)
  const db = drizzleOnNeon({ client: pool })
  const other = createEngine({ backend: postgres({ driver: drizzleNeonDriver(db) }), gateway })
  await db.transaction((tx) => other.transfers.enqueue(tx, request))
}

export async function payWithSequelize(
  root: Sequelize,
  pool: Pool,
  gateway: Gateway,
  request: EnqueueRequest,
): Promise<void> {
  const engine = createEngine({ backend: postgres({ driver: sequelizeDriver({ sequelize: root, pool }) }), gateway })
  await root.transaction((tx) => engine.transfers.enqueue(tx, request))
  // @ts-expect-error: Sequelize itself is no transaction.
  await engine.transfers.enqueue(root, request)
}
