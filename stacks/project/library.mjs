// Each entry of a driver, as an ES module.
import { mikroOrmDriver } from '@outlay/adapters-pg/mikro-orm'
import { sequelizeDriver } from '@outlay/adapters-pg/sequelize'
import { typeormDriver } from '@outlay/adapters-pg/typeorm'

for (const driver of [mikroOrmDriver, sequelizeDriver, typeormDriver])
  if (typeof driver !== 'function') throw new Error('An entry has no driver.')
