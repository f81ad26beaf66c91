// Each entry of a driver, as an ES module.
import { drizzleNeonDriver } from '@outlay/adapters-pg/drizzle-neon'
import { drizzlePostgresJsDriver } from '@outlay/adapters-pg/drizzle-postgres-js'
import { neonDriver } from '@outlay/adapters-pg/neon'
import { postgresJsDriver } from '@outlay/adapters-pg/postgres-js'
import { sequelizeDriver } from '@outlay/adapters-pg/sequelize'
import { typeormDriver } from '@outlay/adapters-pg/typeorm'

const drivers = [
  drizzleNeonDriver,
  drizzlePostgresJsDriver,
  neonDriver,
  postgresJsDriver,
  sequelizeDriver,
  typeormDriver,
]
for (const driver of drivers) if (typeof driver !== 'function') throw new Error('An entry has no driver.')
