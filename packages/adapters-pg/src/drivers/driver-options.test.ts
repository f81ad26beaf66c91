import { OutlayError } from '@outlay/core'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import { Client, Pool } from 'pg'
import postgresJs from 'postgres'
import { Sequelize } from 'sequelize'
import { expect, it } from 'vitest'
import { drizzleDriver } from './drizzle.ts'
import { drizzleNeonDriver } from './drizzle-neon.ts'
import { drizzlePostgresJsDriver } from './drizzle-postgres-js.ts'
import { knexDriver } from './knex.ts'
import { kyselyDriver } from './kysely.ts'
import { mikroOrmDriver } from './mikro-orm.ts'
import { neonDriver } from './neon.ts'
import { pgDriver } from './pg.ts'
import { postgresJsDriver } from './postgres-js.ts'
import { prismaDriver } from './prisma.ts'
import { sequelizeDriver } from './sequelize.ts'
import { typeormDriver } from './typeorm.ts'

const pool = new Pool()
const sql = postgresJs('postgres://127.0.0.1/none')
/** Of each library something that is not what the other ones take; none of them connects. */
const others = {
  nothing: undefined,
  null: null,
  'a text': 'postgres://127.0.0.1/none',
  'an empty object': {},
  'a client of node-postgres': new Client(),
  'an instance of Kysely': new Kysely({ dialect: new PostgresDialect({ pool }) }),
  'an instance of Knex': knex({ client: 'pg' }),
  'an instance of postgres.js': sql,
  'an instance of Sequelize': new Sequelize('postgres://127.0.0.1/none'),
}

/** How each driver is made, and which of the others is what it takes. */
type Made = readonly [call: string, make: (given: never) => unknown, own?: keyof typeof others]
const drivers: readonly Made[] = [
  ['pgDriver(pool)', (given) => pgDriver(given)],
  ['drizzleDriver(db)', (given) => drizzleDriver(given)],
  ['drizzleNeonDriver(db)', (given) => drizzleNeonDriver(given)],
  ['neonDriver(pool)', (given) => neonDriver(given)],
  ['knexDriver(knex)', (given) => knexDriver(given), 'an instance of Knex'],
  ['typeormDriver(dataSource)', (given) => typeormDriver(given)],
  ['kyselyDriver({ db, pool })', (db) => kyselyDriver({ db, pool }), 'an instance of Kysely'],
  ['mikroOrmDriver({ orm, pool })', (orm) => mikroOrmDriver({ orm, pool })],
  ['prismaDriver({ prisma, pool })', (prisma) => prismaDriver({ prisma, pool })],
  [
    'sequelizeDriver({ sequelize, pool })',
    (sequelize) => sequelizeDriver({ sequelize, pool }),
    'an instance of Sequelize',
  ],
  ['postgresJsDriver({ sql, pool })', (given) => postgresJsDriver({ sql: given, pool }), 'an instance of postgres.js'],
  ['drizzlePostgresJsDriver({ db, pool })', (db) => drizzlePostgresJsDriver({ db, pool })],
]
const taking: Readonly<Record<string, (options: never) => unknown>> = {
  kyselyDriver,
  mikroOrmDriver,
  prismaDriver,
  sequelizeDriver,
  postgresJsDriver,
  drizzlePostgresJsDriver,
}

const refusalOf = (act: () => unknown): unknown => {
  try {
    return act()
  } catch (error) {
    return error
  }
}

it.each(drivers.map(([call, make, own]) => ({ call, make, own })))(
  '$call says how it is made to who gives it something else',
  ({ call, make, own }) => {
    for (const [name, given] of Object.entries(others)) {
      if (name === own) continue
      const refusal = refusalOf(() => make(given as never))
      expect(OutlayError.is(refusal, 'invalid_request'), `${name}: ${String(refusal)}`).toBe(true)
      expect(String(refusal), name).toContain(call)
      expect(String(refusal), name).toMatch(/ must be .*, such as /)
    }
  },
)

it.each(Object.entries(taking))('%s says how it is made to who gives it no object of options', (name, make) => {
  const call = drivers.find(([one]) => one.startsWith(`${name}(`))?.[0] ?? ''
  for (const given of [...Object.values(others), pool, { pool: undefined }, { pool: sql }])
    expect(String(refusalOf(() => make(given as never)))).toContain(call)
})

it.each([
  () => knexDriver(others['an instance of Knex']),
  () => kyselyDriver({ db: others['an instance of Kysely'], pool }),
  () => sequelizeDriver({ sequelize: others['an instance of Sequelize'], pool }),
  () => postgresJsDriver({ sql, pool }),
])('what a driver takes makes it', (make) => {
  expect(make()).toHaveProperty('execute')
})

it('refuses Sequelize with another dialect, and an instance of postgres.js in place of its Drizzle', () => {
  const sequelize = { transaction() {}, getDialect: () => 'mysql' } as never
  expect(() => sequelizeDriver({ sequelize, pool })).toThrow('with its dialect postgres')
  expect(() => drizzlePostgresJsDriver({ db: sql as never, pool })).toThrow(
    'Drizzle over postgres.js, such as drizzle(',
  )
})
