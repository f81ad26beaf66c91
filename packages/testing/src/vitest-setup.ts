import '@outlay/core/node-version'
import { randomBytes } from 'node:crypto'
import type { TestProject } from 'vitest/node'
import { dropRolesByPrefix } from './ordinary-role.ts'
import { startPostgres } from './postgres.ts'
import { dropDatabasesByPrefix } from './template-database.ts'

/** The server of a test run, for test files. */
export interface ProvidedPostgres {
  /** Connection string of a superuser. */
  readonly url: string
  /** Prefix of the names of this run's databases. */
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
 * `@outlay/testing/vitest`. Without fsync: a test of durability starts its own server. At the end, it stops the server, or, on a
 * server given by its URL, drops the databases of the run.
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
