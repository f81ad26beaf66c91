import { randomBytes } from 'node:crypto'
import type { TestProject } from 'vitest/node'
import { dropRolesByPrefix } from './ordinary-role.ts'
import { startPostgres } from './postgres.ts'
import { dropDatabasesByPrefix } from './template-database.ts'

/** The server of a test run, as test files see it. */
export interface ProvidedPostgres {
  /** Connection string of a superuser. */
  readonly url: string
  /** How the names of this run's databases begin. */
  readonly prefix: string
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Set by the global setup `@outlay/testing/vitest-setup`. */
    outlayPostgres: ProvidedPostgres
  }
}

/**
 * The global setup of a vitest project: one Postgres for all of its test files, provided to `testDatabase` of
 * `@outlay/testing/vitest`. Without fsync: a test of durability starts a server of its own. At the end it goes, and from a
 * server given by its URL the databases of the run go.
 *
 * @example
 * { test: { name: 'pg', include: ['**\/*.pg.test.ts'], globalSetup: ['@outlay/testing/vitest-setup'] } }
 */
export async function setup(project: Pick<TestProject, 'provide'>): Promise<() => Promise<void>> {
  const postgres = await startPostgres({ durable: false })
  const prefix = `outlay_${randomBytes(4).toString('hex')}_`
  project.provide('outlayPostgres', { url: postgres.url, prefix })
  return async () => {
    if (postgres.provider === 'url') {
      await dropDatabasesByPrefix(postgres.url, prefix)
      await dropRolesByPrefix(postgres.url, prefix)
    }
    await postgres.stop()
  }
}
