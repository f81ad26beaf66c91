import '@outlay/core/node-version'
import type { Pool } from 'pg'
import type { Driver, TransactionOptions } from '../database/driver.ts'
import { noTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'
import { type DriverParts, hasMethods, poolPart } from './driver-options.ts'
import { type PgDriverOptions, partsDriver } from './pool.ts'

/** Members of a Prisma client that the client of an interactive transaction lacks. */
type RootMember = '$connect' | '$disconnect' | '$on' | '$use' | '$extends'

/** The transaction that Prisma hands to `prisma.$transaction(async (tx) => …)`; the root client is of another type. */
export type PrismaTransaction<Root> = Omit<Root, RootMember> & { readonly [Member in RootMember]?: never }

/** How Prisma runs a transaction that the engine opens; times are in milliseconds. */
export interface PrismaTransactionOptions {
  /** Longest wait for a connection. Default 10 000. */
  readonly maxWait?: number
  /** Longest life of the transaction; one of a subscription lasts as long as its time limit allows. Default 60 000. */
  readonly timeout?: number
}

/** What the driver uses of a Prisma client. Every client that Prisma generates for Postgres has these members. */
export interface PrismaRoot {
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): PromiseLike<T>
  $transaction(work: (tx: unknown) => Promise<unknown>, options?: PrismaTransactionOptions): Promise<unknown>
}

/** What {@link prismaDriver} works on. */
export interface PrismaDriverOptions<Root extends PrismaRoot> extends PgDriverOptions {
  readonly prisma: Root
  /** A pool to the same database, best the one under `PrismaPg`: background work and LISTEN need connections of their own. */
  readonly pool: Pool
  /** For the transactions that subscription handlers run in. */
  readonly transactionOptions?: PrismaTransactionOptions | undefined
}

const made: DriverParts = {
  call: 'prismaDriver({ prisma, pool })',
  parts: {
    prisma: {
      is: (given) => hasMethods(given, '$transaction', '$queryRawUnsafe'),
      what: 'a client of Prisma, such as new PrismaClient({ adapter: new PrismaPg(pool) })',
    },
    pool: poolPart,
  },
  others: ['transactionOptions'],
}

/**
 * A driver on Prisma with its driver adapter for node-postgres. The transaction is the client that an interactive
 * transaction gives. The driver imports nothing of Prisma: it uses the members of the client it is given.
 *
 * @example
 * const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
 * const engine = createEngine({ backend: postgres({ driver: prismaDriver({ prisma, pool }) }), gateway })
 */
export function prismaDriver<Root extends PrismaRoot>(
  options: PrismaDriverOptions<Root>,
): Driver<PrismaTransaction<Root>> {
  const background = partsDriver(options, made)
  const { prisma } = options
  const transactionOptions = { maxWait: 10_000, timeout: 60_000, ...options.transactionOptions }
  return {
    ...background,
    name: 'prisma',
    async execute(tx, statement, values) {
      // Prisma itself refuses a transaction that has ended.
      if (typeof tx.$connect === 'function') throw noTransaction('is the client of Prisma itself')
      try {
        return await (tx as unknown as PrismaRoot).$queryRawUnsafe<readonly Row[]>(statement.text, ...values)
      } catch (error) {
        throw withSqlState(error)
      }
    },
    transaction: <T>(work: (tx: PrismaTransaction<Root>) => Promise<T>, { longestMs = 0 }: TransactionOptions = {}) => {
      const timeout = Math.max(transactionOptions.timeout, longestMs)
      return prisma.$transaction((tx) => work(tx as PrismaTransaction<Root>), {
        ...transactionOptions,
        timeout,
      }) as Promise<T>
    },
  }
}

/** The same error. Prisma keeps the SQLSTATE in its details; the cause has it where the other libraries have it. */
function withSqlState(error: unknown): unknown {
  const { meta } = error as { readonly meta?: { readonly driverAdapterError?: { readonly cause?: unknown } } }
  const { originalCode, originalMessage } = (meta?.driverAdapterError?.cause ?? {}) as Record<string, unknown>
  if (!(error instanceof Error) || error.cause !== undefined || typeof originalCode !== 'string') return error
  error.cause = Object.assign(new Error(String(originalMessage)), { code: originalCode })
  return error
}
