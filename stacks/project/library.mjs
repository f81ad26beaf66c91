// Each entry of a driver, as an ES module.
import { typeormDriver } from '@outlay/adapters-pg/typeorm'

for (const driver of [typeormDriver]) if (typeof driver !== 'function') throw new Error('An entry has no driver.')
