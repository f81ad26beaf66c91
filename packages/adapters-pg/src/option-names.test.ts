import { Client, Pool } from 'pg'
import { expect, it } from 'vitest'
import { postgres } from './backend.ts'
import { drizzleDriver } from './drivers/drizzle.ts'
import { drizzleNeonDriver } from './drivers/drizzle-neon.ts'
import { drizzlePostgresJsDriver } from './drivers/drizzle-postgres-js.ts'
import { knexDriver } from './drivers/knex.ts'
import { kyselyDriver } from './drivers/kysely.ts'
import { mikroOrmDriver } from './drivers/mikro-orm.ts'
import { neonDriver } from './drivers/neon.ts'
import { pgDriver } from './drivers/pg.ts'
import { postgresJsDriver } from './drivers/postgres-js.ts'
import { prismaDriver } from './drivers/prisma.ts'
import { sequelizeDriver } from './drivers/sequelize.ts'
import { typeormDriver } from './drivers/typeorm.ts'
import { inspect } from './inspection/inspection.ts'
import { rolesSql } from './schema/roles.ts'

const pool = new Pool()
const driver = pgDriver(pool)
const unused = undefined as never
const openSource = { isInitialized: true, options: { type: 'postgres' }, driver: { master: pool } } as never
const drizzled = { $client: pool, transaction() {} } as never
const mistyped = (options: object): object => options

it.each<[string, () => unknown]>([
  ['shema: is no option; there are driver, schema', () => postgres({ driver, ...{ shema: 'payments' } })],
  ['shema: is no option', () => inspect({ driver, ...{ shema: 'payments' } })],
  ['shema: is no option', () => rolesSql(mistyped({ shema: 'payments' }))],
  ['roles.workers: is no option', () => rolesSql({ roles: mistyped({ workers: 'payouts' }) })],
  ['prepare: is no option; there are prepared', () => pgDriver(pool, mistyped({ prepare: false }))],
  ['prepare: is no option', () => drizzleDriver(drizzled, mistyped({ prepare: false }))],
  ['prepare: is no option', () => knexDriver(unused, mistyped({ prepare: false }))],
  [
    'prepare: is no option; there are prepared, db, pool',
    () => kyselyDriver({ db: unused, pool, ...{ prepare: false } }),
  ],
  ['prepare: is no option', () => prismaDriver({ prisma: unused, pool, ...{ prepare: false } })],
  ['prepare: is no option', () => postgresJsDriver({ sql: unused, pool, ...{ prepare: false } })],
  ['prepare: is no option', () => drizzlePostgresJsDriver({ db: unused, pool, ...{ prepare: false } })],
  ['prepare: is no option', () => neonDriver(pool as never, mistyped({ prepare: false }))],
  ['prepare: is no option', () => drizzleNeonDriver(drizzled, mistyped({ prepare: false }))],
  ['prepare: is no option', () => sequelizeDriver({ sequelize: unused, pool, ...{ prepare: false } })],
  ['prepare: is no option', () => mikroOrmDriver({ orm: unused, pool, ...{ prepare: false } })],
  ['prepare: is no option', () => typeormDriver(openSource, mistyped({ prepare: false }))],
  ['notify: must be true or false', () => postgres({ driver, ...{ notify: 'false' as never } })],
  ['driver: must be a driver, such as pgDriver(pool)', () => postgres({ driver: pool as never })],
  ['driver: must be a driver, such as pgDriver(pool)', () => postgres({} as never)],
  ['driver: must be a driver, such as pgDriver(pool)', () => postgres(pool as never)],
  ['driver: must be a driver, such as pgDriver(pool)', () => postgres(undefined as never)],
  ['pool: must be a pool of node-postgres', () => pgDriver(new Client() as never)],
  ['at most 51 characters; got "My Schema".', () => postgres({ driver, schema: 'My Schema' })],
  ['knex: must be an instance of Knex', () => knexDriver('postgres://localhost' as never)],
  ['dataSource: must be a data source of TypeORM', () => typeormDriver({ queryRunner: undefined } as never)],
  ['pool: must be a pool of node-postgres', () => pgDriver('postgres://localhost' as never)],
  ['prepared: must be true or false', () => pgDriver(pool, { ...{ prepared: 'false' as never } })],
  ['prepared: must be true or false', () => knexDriver(unused, { ...{ prepared: 'false' as never } })],
])('%s', (message, act) => {
  expect(act).toThrow(message)
})
