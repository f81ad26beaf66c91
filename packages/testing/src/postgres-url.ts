import { waitForPostgres } from './postgres-readiness.ts'
import type { PostgresOptions, PostgresServer } from './postgres-server.ts'

/** Joins an external server. It is neither stopped nor restarted. */
export async function joinPostgresUrl(options: PostgresOptions): Promise<PostgresServer> {
  const url = options.url ?? process.env.OUTLAY_TEST_DATABASE_URL
  if (!url) throw new Error('The provider "url" needs the option url or OUTLAY_TEST_DATABASE_URL.')
  await waitForPostgres(url, options.startTimeoutMs ?? 60_000)
  return {
    url,
    restart: async () => {
      throw new Error('A Postgres given by its URL is external and cannot be restarted from a test.')
    },
    stop: async () => {},
  }
}
