import { describeDriver } from '@outlay/testing/conformance'
import postgresJs from 'postgres'
import { expect, it, vi } from 'vitest'
import { describeLosses } from '../../test/postgres-js-losses.ts'
import { openPostgresJs } from '../../test/postgres-js-subjects.ts'

// The driver, its subject and this file get the oldest release that the driver claims.
vi.mock('postgres', () => import('postgres-3.4.0'))

it('is tested with the oldest release of postgres.js', async () => {
  expect(postgresJs).toBe((await import('postgres-3.4.0')).default)
  expect(await vi.importActual('postgres')).not.toMatchObject({ default: postgresJs })
})

describeDriver('postgres.js 3.4.0', openPostgresJs)
describeLosses('postgres.js 3.4.0')
