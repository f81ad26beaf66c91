import { describeDriver } from '@outlay/testing/conformance'
import { openDrizzlePostgresJs } from '../../test/postgres-js-subjects.ts'

describeDriver('drizzle over postgres.js', openDrizzlePostgresJs)
