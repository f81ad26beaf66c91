import { describeDriver } from '@outlay/testing/conformance'
import { openPrismaClient } from '../../test/driver-subjects.ts'

describeDriver('prisma', openPrismaClient)
