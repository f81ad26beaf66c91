import type { StartedPostgreSqlContainer } from '@testcontainers/postgresql'
import { findFreePort } from './free-port.ts'
import { waitForPostgres } from './postgres-readiness.ts'
import { chooseVersion, type PostgresOptions, type PostgresServer, type RestartMode } from './postgres-server.ts'

/**
 * Starts a Postgres container on a fixed port of the host, so that its address stays the same after a restart.
 *
 * The image must have the contract of the official one: `POSTGRES_USER`, `POSTGRES_PASSWORD`, `POSTGRES_DB`, and the arguments
 * of its command go to the server.
 */
export async function startPostgresContainer(options: PostgresOptions): Promise<PostgresServer> {
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql').catch((cause: unknown) => {
    throw new Error('A container needs the package @testcontainers/postgresql; install it beside @outlay/testing.', {
      cause,
    })
  })
  const startTimeoutMs = options.startTimeoutMs ?? 120_000
  const settings = {
    max_connections: '600',
    fsync: (options.durable ?? true) ? 'on' : 'off',
    timezone: 'UTC',
    ...options.settings,
  }
  const official = `postgres:${chooseVersion(options, process.env)}`
  const container = await new PostgreSqlContainer(options.image ?? process.env.OUTLAY_POSTGRES_IMAGE ?? official)
    .withUsername('postgres')
    .withPassword('postgres')
    .withDatabase('postgres')
    .withExposedPorts({ container: 5432, host: options.port ?? (await findFreePort()) })
    .withCommand(['postgres', ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])])
    .withStartupTimeout(startTimeoutMs)
    .start()
  const url = container.getConnectionUri()
  try {
    await waitForPostgres(url, startTimeoutMs)
  } catch (error) {
    await container.stop()
    throw error
  }
  return {
    url,
    restart: (mode) => restart(container, mode, startTimeoutMs),
    stop: async () => {
      await container.stop()
    },
  }
}

/** Without time to stop, the container's processes are killed: for the data, this is a crash. */
async function restart(container: StartedPostgreSqlContainer, mode: RestartMode, timeoutMs: number): Promise<void> {
  await container.restart({ timeout: mode === 'fast' ? 30 : 0 })
  await waitForPostgres(container.getConnectionUri(), timeoutMs)
}
