import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Driver, Shards } from '@outlay/adapters-pg'
import type { Probes } from '@outlay/adapters-pg/probes'
import type {
  Amount,
  Backend,
  Engine,
  EngineOptions,
  EnqueueRequest,
  Gateway,
  PostalAddress,
  TransferRequest,
} from '@outlay/core'
import type { Credentials } from '@outlay/http-client'
import type { Rails, Service } from '@outlay/service'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import type { Pool, PoolClient } from 'pg'

/*
 * The names of a host application that the excerpts in the documents use, each with its type. The code of the
 * documents is compiled with them.
 */

const employeeTable = pgTable('employee', { id: text(), name: text() })
const merchantTable = pgTable('merchant', { accountId: text() })
const invoiceTable = pgTable('invoice', { id: text(), status: text(), transferId: text() })

type Database = NodePgDatabase & { readonly $client: Pool }
type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]
type HostEngine = Engine<Transaction>
type Table = typeof invoiceTable

/** A vault: credentials under an account's name, secrets under longer names. */
interface Vault {
  read<Path extends string>(path: Path): Promise<Path extends `${string}/webhook` ? readonly string[] : Credentials>
  write(path: string, secret: string | undefined): Promise<void>
}

/** A web server with both Hono's and Express's way to mount a route. */
interface App {
  post(path: string, handler: (c: HonoContext) => Promise<Response>): void
  post(path: string, raw: unknown, handler: (request: ExpressRequest, response: ExpressResponse) => Promise<void>): void
}
interface HonoContext {
  readonly req: {
    readonly raw: Request
    arrayBuffer(): Promise<ArrayBuffer>
    param(name: string): string
  }
  body(data: null, status: number): Response
}
interface ExpressRequest {
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly params: { readonly accountId: string }
}
interface ExpressResponse {
  status(code: number): { end(): void }
}

type NodeListener = (request: IncomingMessage, response: ServerResponse) => void
interface FastifyApp {
  get(
    path: string,
    handler: (
      request: { readonly raw: IncomingMessage },
      reply: { hijack(): void; readonly raw: ServerResponse },
    ) => void,
  ): void
}

interface Bank {
  settle(transferId: string): Promise<void>
  reject(transferId: string, reason: string): Promise<void>
}

declare global {
  function askDesk(
    pair: string,
    deal: { readonly id: string; readonly amount: Amount; readonly signal: AbortSignal },
  ): Promise<{ readonly rate: string; readonly expiresAt: string; readonly reference: string } | undefined>
  const accountId: string
  const apiKey: string
  const app: App
  const backend: Backend<PoolClient>
  const bankGateway: typeof import('../../examples/own-provider/src/smallest.ts').bankGateway
  const bank: string & Bank
  const bankAddress: PostalAddress
  const beneficiaryAddress: PostalAddress
  const baseUrl: string
  const batchId: string
  const connectionString: string
  const credentials: Credentials
  const db: Database
  const encryptionKey: Uint8Array
  const engine: HostEngine
  const employee: { readonly id: string; readonly name: string; readonly legalName: string }
  const employees: typeof employeeTable
  const express: { raw(options: { readonly type: string }): unknown }
  const driver: Driver<PoolClient>
  const another: Gateway
  const northbank: Gateway
  const cards: Gateway
  const startNorthbank: typeof import('../../examples/own-provider/src/provider.ts').startNorthbank
  const northbankGateway: typeof import('../../examples/own-provider/src/northbank.ts').northbankGateway
  const payout: (value: string) => TransferRequest
  const expressApp: { use(path: string, listener: NodeListener): void }
  const fastifyApp: FastifyApp
  const honoApp: { get(path: string, handler: (c: HonoContext) => Promise<Response>): void }
  const form: { readonly accountNumber: string; readonly routingNumber: string }
  const gateway: Gateway
  const invoice: { readonly id: string }
  const invoices: Table
  const merchants: typeof merchantTable
  const probes: Probes
  const payslip: { readonly id: string }
  const pool: Pool
  const rails: Rails
  const request: EnqueueRequest
  const requests: readonly EnqueueRequest[]
  const service: Service
  const signal: AbortSignal
  const tenants: { isTestnet(accountId: string): boolean }
  const vault: Vault
  const wallet: string
  const bankRails: (options: { readonly bank: Bank; readonly pool: Pool }) => Rails
  const createPayouts: (options: EngineOptions<Transaction>) => HostEngine
  const createEngine: typeof import('@outlay/core').createEngine
  const credit: (tx: Transaction, accountId: string, amount: Amount, type: string) => Promise<void>
  const bookPayout: (tx: Transaction, transferId: string, amount: Amount) => Promise<void>
  const reopenInvoice: (tx: Transaction, transferId: string, amount: Amount, code: string) => Promise<void>
  const drizzleDriver: typeof import('@outlay/adapters-pg/drizzle').drizzleDriver
  const eq: typeof import('drizzle-orm').eq
  const httpGateway: typeof import('@outlay/http-client').httpGateway
  const outlayKeyLifetimeMs: typeof import('@outlay/http-client').outlayKeyLifetimeMs
  const openGateway: () => Gateway
  const postgres: typeof import('@outlay/adapters-pg').postgres
  const directory: typeof import('@outlay/adapters-pg').directory
  const directoryPool: Pool
  const east: Database
  const log: { warn(fields: object, message: string): void }
  const outlay: Shards<Transaction>
  const regionOf: (accountId: string) => string
  const shards: typeof import('@outlay/adapters-pg').shards
  const west: Database
  const findSession: (
    cookie: string | null,
    signal?: AbortSignal,
  ) => Promise<{ readonly email: string; readonly roles: readonly string[]; readonly isOnCall: boolean } | undefined>
}
