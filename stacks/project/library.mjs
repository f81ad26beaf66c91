// Each entry of a driver, as an ES module.
import { sequelizeDriver } from '@outlay/adapters-pg/sequelize'
import { typeormDriver } from '@outlay/adapters-pg/typeorm'

for (const driver of [sequelizeDriver, typeormDriver])
  if (typeof driver !== 'function') throw new Error('An entry has no driver.')
