import { type ServerType, serve } from '@hono/node-server'
import type { Pool } from 'pg'
import { countStatements } from './database.ts'
import type { ClientUsage } from './measurement.ts'

/** Connections to the database that every HTTP contender may open. */
export const poolSize = 20

/** The database role of the service's processes. */
export const serviceRole = 'bench_service'

/** The message of a contender's process once it listens. */
export interface HttpProcessReady {
  readonly ready: true
  readonly url: string
  /** Address that returns the usage of the process so far, as {@link ClientUsage}. */
  readonly usageUrl: string
}

/** A value of the environment. Throws Error when it is missing. */
export function requireEnv(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`Set ${name}.`)
  return value
}

/** Serves `fetch` from this process, reports it on standard output, and ends the process on SIGTERM, after `stop`. */
export async function serveProcess(
  pool: Pool,
  fetch: (request: Request) => Response | Promise<Response>,
  stop: () => Promise<void>,
): Promise<void> {
  const statements = countStatements(pool)
  const usage = (): ClientUsage => {
    const cpu = process.cpuUsage()
    return { cpuUs: cpu.user + cpu.system, statements: statements() }
  }
  const servers = [await listen(fetch), await listen(() => Response.json(usage()))]
  process.once('SIGTERM', () => {
    for (const { server } of servers) server.close()
    stop().then(
      () => process.exit(0),
      (error) => {
        process.stderr.write(`${error}\n`)
        process.exit(1)
      },
    )
  })
  const [url = '', usageUrl = ''] = servers.map((one) => one.url)
  const ready: HttpProcessReady = { ready: true, url, usageUrl }
  process.stdout.write(`${JSON.stringify(ready)}\n`)
}

function listen(
  fetch: (request: Request) => Response | Promise<Response>,
): Promise<{ readonly server: ServerType; readonly url: string }> {
  const hostname = '127.0.0.1'
  return new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname, port: 0 }, ({ port }) =>
      resolve({ server, url: `http://${hostname}:${port}` }),
    )
    server.once('error', reject)
  })
}
