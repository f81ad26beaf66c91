import { describeLosses } from '../../test/postgres-js-losses.ts'

describeLosses('postgres.js')
