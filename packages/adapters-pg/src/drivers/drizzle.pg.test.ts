import { describeDriver } from '@outlay/testing/conformance'
import { openDrizzle } from '../../test/driver-subjects.ts'

describeDriver('drizzle', openDrizzle)
