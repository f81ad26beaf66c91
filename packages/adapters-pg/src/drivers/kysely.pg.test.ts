import { describeDriver } from '@outlay/testing/conformance'
import { openKysely } from '../../test/driver-subjects.ts'

describeDriver('kysely', openKysely)
