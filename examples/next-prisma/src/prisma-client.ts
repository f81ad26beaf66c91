/**
 * What `prisma generate` writes for `schema.prisma`, by hand and less what this example does not use: the generator would
 * fetch an engine that nothing here needs. A real host imports its generated client instead of this file.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  type Decimal,
  type GetPrismaClientConfig,
  getPrismaClient,
  type ITXClientDenyList,
} from '@prisma/client/runtime/client'
import type { Pool } from 'pg'

/** A row of `department`. */
export interface Department {
  readonly id: string
  readonly budget: Decimal
}

/** A row of `invoice`. */
export interface Invoice {
  readonly id: string
  readonly departmentId: string
  readonly bankId: string
  readonly amount: Decimal
  readonly status: string
  readonly transferId: string | null
}

interface Delegate<Row, Create> {
  findUnique(args: { readonly where: Partial<Row> }): Promise<Row | null>
  findUniqueOrThrow(args: { readonly where: Partial<Row> }): Promise<Row>
  create(args: { readonly data: Create }): Promise<Row>
  updateMany(args: { readonly where: object; readonly data: object }): Promise<{ readonly count: number }>
}

/** Prisma's client of the two models. */
export interface PrismaClient {
  $connect(): Promise<void>
  $disconnect(): Promise<void>
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): Promise<T>
  $transaction<R>(work: (tx: Omit<PrismaClient, ITXClientDenyList>) => Promise<R>): Promise<R>
  readonly department: Delegate<Department, { readonly id: string; readonly budget: string }>
  readonly invoice: Delegate<Invoice, Pick<Invoice, 'id' | 'departmentId' | 'bankId'> & { readonly amount: string }>
}

const require = createRequire(import.meta.url)
const compiler = '@prisma/client/runtime/query_compiler_fast_bg.postgresql'
const { Module } = (globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => unknown } })
  .WebAssembly

const field = (name: string, type = 'String') => ({ name, kind: 'scalar', type }) as const

const config = {
  previewFeatures: [],
  clientVersion: '7.10.0',
  engineVersion: '',
  activeProvider: 'postgresql',
  inlineSchema: readFileSync(new URL('../prisma/schema.prisma', import.meta.url), 'utf8'),
  runtimeDataModel: {
    models: {
      Department: { dbName: 'department', schema: null, fields: [field('id'), field('budget', 'Decimal')] },
      Invoice: {
        dbName: 'invoice',
        schema: null,
        fields: [
          field('id'),
          { ...field('departmentId'), dbName: 'department_id' },
          { ...field('bankId'), dbName: 'bank_id' },
          field('amount', 'Decimal'),
          field('status'),
          { ...field('transferId'), dbName: 'transfer_id' },
        ],
      },
    },
    enums: {},
    types: {},
  },
  parameterizationSchema: { strings: [], graph: Buffer.alloc(16).toString('base64url') },
  compilerWasm: {
    getRuntime: async () => require(`${compiler}.js`),
    getQueryCompilerWasmModule: async () =>
      new Module(Buffer.from(require(`${compiler}.wasm-base64.js`).wasm, 'base64')),
    importName: './query_compiler_fast_bg.js',
  },
}

/** Opens Prisma's client on a pool. */
export function openPrisma(pool: Pool): PrismaClient {
  const Client = getPrismaClient(config as unknown as GetPrismaClientConfig)
  return new Client({ adapter: new PrismaPg(pool) }) as unknown as PrismaClient
}
