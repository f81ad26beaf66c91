import { type Program, spawnNode } from '@outlay/testing'
import type { ServiceAccess } from './engine.ts'

/** The service in a separate process. */
export interface ServiceProcess extends ServiceAccess {
  readonly program: Program
  /** The account that our credentials own; the companies are managed below it. */
  readonly accountId: string
}

/** Starts the service on a free port of 127.0.0.1, on its own database. */
export async function startService(databaseUrl: string): Promise<ServiceProcess> {
  const program = await spawnNode(new URL('service.ts', import.meta.url), { env: { DATABASE_URL: databaseUrl } })
  const { baseUrl, clientId, clientSecret, accountId } = program.ready
  const credentials = { clientId: String(clientId), clientSecret: String(clientSecret) }
  return { program, baseUrl: String(baseUrl), credentials, accountId: String(accountId) }
}

/** Starts a worker of the application. */
export function startWorker(databaseUrl: string, service: ServiceAccess): Promise<Program> {
  return spawnNode(new URL('worker.ts', import.meta.url), {
    env: {
      DATABASE_URL: databaseUrl,
      SERVICE_URL: service.baseUrl,
      CLIENT_ID: service.credentials.clientId,
      CLIENT_SECRET: service.credentials.clientSecret,
    },
  })
}
