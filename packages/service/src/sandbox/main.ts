#!/usr/bin/env node
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Catalog } from '@outlay/core'
import type { Dialect } from '../schema/dialect.ts'
import type { SeedClient } from './sandbox.ts'

/*
 * Runs a sandbox as a separate process.
 *
 * Reads DATABASE_URL (required), ENCRYPTION_KEY (32 octets in base64; required for a database on another machine), PORT (default any),
 * HOST (default 127.0.0.1), DIALECT (`specification` or `public`), BANK_LINK_ALIASES (path segments beside `banklink`, with commas), CATALOG (a
 * module that exports `catalog`), and SEED: a JSON array of clients to make,
 * each `{name, accounts: [{businessName, funds?: [{valueType, transferType, amount}]}]}`. Prints one line of JSON once it
 * listens: `{"ready": true, "url", "pid", "clients"}`. Errors are lines of JSON on standard error. SIGTERM and SIGINT stop it
 * gracefully; SIGKILL loses nothing.
 */

// Loaded before anything else, so that the command says in one line that its Node is too old.
await import('@outlay/core/node-version').catch((error: Error) => {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
})
const { startSandbox } = await import('./sandbox.ts')

const { DATABASE_URL: databaseUrl, ENCRYPTION_KEY: key, PORT: port, HOST: host, SEED: seed } = process.env
const { DIALECT: dialect, BANK_LINK_ALIASES: aliases, CATALOG: catalogModule } = process.env
if (databaseUrl === undefined) throw new Error('Set DATABASE_URL to the database of the sandbox.')

const write = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => {
  process.stderr.write(`${JSON.stringify({ level, message, ...fields })}\n`)
}
const logger = { debug() {}, info() {}, warn: write('warn'), error: write('error') }

async function readCatalog(module: string): Promise<Catalog> {
  const { catalog } = (await import(pathToFileURL(resolve(module)).href)) as { readonly catalog?: Catalog }
  if (catalog === undefined) throw new Error(`${module} does not export a catalog.`)
  return catalog
}

const sandbox = await startSandbox({
  databaseUrl,
  logger,
  ...(key === undefined ? {} : { encryptionKey: Buffer.from(key, 'base64') }),
  ...(port === undefined ? {} : { port: Number(port) }),
  ...(host === undefined ? {} : { host }),
  ...(dialect === undefined ? {} : { dialect: dialect as Dialect }),
  ...(aliases === undefined ? {} : { bankLinkAliases: aliases.split(',') }),
  ...(catalogModule === undefined ? {} : { catalog: await readCatalog(catalogModule) }),
})

const end = (): void => {
  sandbox.stop().then(
    () => process.exit(0),
    (error) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
      process.exit(1)
    },
  )
}
process.once('SIGTERM', end)
process.once('SIGINT', end)

const clients = []
for (const client of seed === undefined ? [] : (JSON.parse(seed) as SeedClient[])) {
  clients.push(await sandbox.seedClient(client))
}
process.stdout.write(`${JSON.stringify({ ready: true, url: sandbox.url, pid: process.pid, clients })}\n`)
