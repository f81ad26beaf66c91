import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { createInvoiceEngine, type InvoiceEngine, type Service } from './engine.ts'
import { openPrisma, type PrismaClient } from './prisma-client.ts'

/** Dependencies of the route handlers. */
export interface Host extends AsyncDisposable {
  readonly prisma: PrismaClient
  readonly engine: InvoiceEngine
  readonly service: Service
}

let opened: Host | undefined

/**
 * The only host of this process, opened at the first request: Next also loads its modules during a build, when there is no
 * database.
 */
export function host(): Host {
  opened ??= openHost(process.env)
  return opened
}

function openHost(env: NodeJS.ProcessEnv): Host {
  const pool = new pg.Pool({ connectionString: env.DATABASE_URL })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', () => {})
  const prisma = openPrisma(pool)
  const service: Service = {
    baseUrl: env.SERVICE_URL ?? '',
    credentials: { clientId: env.CLIENT_ID ?? '', clientSecret: env.CLIENT_SECRET ?? '' },
    accountId: env.ACCOUNT_ID ?? '',
    walletId: env.WALLET_ID ?? '',
    webhookSecrets: (accountId) => (accountId === env.ACCOUNT_ID ? (env.WEBHOOK_SECRETS?.match(/\S+/g) ?? []) : []),
  }
  const engine = createInvoiceEngine(prisma, pool, service)
  return {
    prisma,
    engine,
    service,
    async [Symbol.asyncDispose]() {
      await engine.stop()
      await prisma.$disconnect()
      await pool.end()
    },
  }
}

/** Does what `prisma migrate deploy` does, and migrates the engine's tables. */
export async function migrateDatabase(url: string, engine: InvoiceEngine): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    await readFile(new URL('../prisma/migrations/0001_invoices/migration.sql', import.meta.url), 'utf8'),
  )
  await client.end()
  await engine.migrate()
}
