import { describeDriver } from '@outlay/testing/conformance'
import { describe } from 'vitest'
import { openKnex } from '../../test/driver-subjects.ts'

describe.each([{ prepared: true }, { prepared: false }])('with the options %j', (options) => {
  describeDriver('knex', (url) => openKnex(url, options))
})
