import { describeDriver } from '@outlay/testing/conformance'
import { describe } from 'vitest'
import { openSequelizeSubject, sequelizes } from '../../test/sequelize-subject.ts'

describe.each(Object.entries(sequelizes))('%s', (name, library) => {
  describeDriver(name, (url) => openSequelizeSubject(url, library))
})
