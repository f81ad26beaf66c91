import { describeDriver } from '@outlay/testing/conformance'
import { sql } from 'drizzle-orm'
import { expect, it, vi } from 'vitest'
import { openDrizzle } from '../../test/driver-subjects.ts'
import { openDrizzleNeon } from '../../test/neon-subject.ts'
import { openDrizzlePostgresJs } from '../../test/postgres-js-subjects.ts'

// The drivers, their subjects and this file get the oldest release that the drivers claim.
vi.mock('drizzle-orm', () => import('drizzle-orm-0.44'))
vi.mock('drizzle-orm/pg-core', () => import('drizzle-orm-0.44/pg-core'))
vi.mock('drizzle-orm/node-postgres', () => import('drizzle-orm-0.44/node-postgres'))
vi.mock('drizzle-orm/postgres-js', () => import('drizzle-orm-0.44/postgres-js'))
vi.mock('drizzle-orm/neon-serverless', () => import('drizzle-orm-0.44/neon-serverless'))

it('is tested with the oldest release of Drizzle', async () => {
  expect(sql).toBe((await import('drizzle-orm-0.44')).sql)
  expect(await vi.importActual('drizzle-orm')).not.toMatchObject({ sql })
})

describeDriver('drizzle 0.44.0', openDrizzle)
describeDriver('drizzle 0.44.0 over postgres.js', openDrizzlePostgresJs)
describeDriver('drizzle 0.44.0 over neon', openDrizzleNeon)
