import { describeDriver } from '@outlay/testing/conformance'
import { describe } from 'vitest'
import { openPg } from '../../test/driver-subjects.ts'

describe.each([{ prepared: true }, { prepared: false }])('with the options %j', (options) => {
  describeDriver('pg', (url) => openPg(url, options))
})
