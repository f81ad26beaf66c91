import { createRequire } from 'node:module'
import { PrismaPg } from '@prisma/adapter-pg'
import { type GetPrismaClientConfig, getPrismaClient, type ITXClientDenyList } from '@prisma/client/runtime/client'
import type { Pool } from 'pg'

/** A client of one model, as `prisma generate` types it, less what no test uses. */
export interface PrismaClient {
  $connect(): Promise<void>
  $disconnect(): Promise<void>
  $executeRawUnsafe(query: string, ...values: unknown[]): Promise<number>
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): Promise<T>
  $transaction<R>(
    work: (tx: Omit<PrismaClient, ITXClientDenyList>) => Promise<R>,
    options?: { readonly maxWait?: number; readonly timeout?: number },
  ): Promise<R>
  readonly note: { create(args: { readonly data: { readonly id: string; readonly body: string } }): Promise<unknown> }
}

const require = createRequire(import.meta.url)
const compiler = '@prisma/client/runtime/query_compiler_fast_bg.postgresql'
const { Module } = (globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => unknown } })
  .WebAssembly

const field = (name: string) => ({ name, kind: 'scalar', type: 'String' }) as const

/** What `prisma generate` writes, by hand: the generator would fetch an engine that nothing here needs. */
const config = {
  previewFeatures: [],
  clientVersion: '7.10.0',
  engineVersion: '',
  activeProvider: 'postgresql',
  inlineSchema: `datasource db {
  provider = "postgresql"
}
model Note {
  id   String @id
  body String
  @@map("note")
}`,
  runtimeDataModel: {
    models: { Note: { dbName: 'note', schema: null, fields: [field('id'), field('body')] } },
    enums: {},
    types: {},
  },
  // No query is parameterized ahead of time.
  parameterizationSchema: { strings: [], graph: Buffer.alloc(16).toString('base64url') },
  compilerWasm: {
    getRuntime: async () => require(`${compiler}.js`),
    getQueryCompilerWasmModule: async () =>
      new Module(Buffer.from(require(`${compiler}.wasm-base64.js`).wasm, 'base64')),
    importName: './query_compiler_fast_bg.js',
  },
}

/** Opens Prisma's own client on a pool. */
export function openPrisma(pool: Pool): PrismaClient {
  const Client = getPrismaClient(config as unknown as GetPrismaClientConfig)
  return new Client({ adapter: new PrismaPg(pool) }) as unknown as PrismaClient
}
