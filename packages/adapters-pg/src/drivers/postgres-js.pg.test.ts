import { describeDriver } from '@outlay/testing/conformance'
import { describe } from 'vitest'
import { openPostgresJs } from '../../test/driver-subjects.ts'

describe.each([{ prepared: true }, { prepared: false }])('with the options %j', (options) => {
  describeDriver('postgres.js', (url) => openPostgresJs(url, options))
})
