import { describeDriver } from '@outlay/testing/conformance'
import { openDrizzleNeon } from '../../test/neon-subject.ts'

describeDriver('drizzle over neon', openDrizzleNeon)
