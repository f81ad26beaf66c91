import type { PoolClient } from 'pg'

/** A row as the driver returns it. */
export type Row = Readonly<Record<string, unknown>>

/** One SQL statement with its own name and the decoder of its rows; `{{schema}}` stands for the service's schema. */
export interface Statement<T> {
  readonly name: string
  readonly text: string
  readonly read: (row: Row) => T
}

/** A statement in the form that the server gets. */
export interface ExecutorQuery {
  readonly name?: string | undefined
  readonly text: string
  readonly values: readonly unknown[]
}

/** Runs single statements of one tenant. A pool is not one: statements that run on it directly see no rows. */
export interface Executor {
  send(query: ExecutorQuery): Promise<{ readonly rows: readonly Row[] }>
}

/** A value that is read as it is sent, by node-postgres or by {@link sentValues}. */
interface LateValue {
  toPostgres(): unknown
}

/** Makes a value of a statement that is read as it is sent: a pipeline that is ready may wait for a connection. */
export const readLate = (read: () => unknown): LateValue => ({ toPostgres: read })

/** The values of a statement that is sent now, for clients that do not read late ones. */
export const sentValues = (values: readonly unknown[]): unknown[] =>
  values.map((value) => (isLate(value) ? value.toPostgres() : value))

const isLate = (value: unknown): value is LateValue =>
  typeof value === 'object' && value !== null && 'toPostgres' in value && typeof value.toPostgres === 'function'

const texts = new WeakMap<Statement<unknown>, Map<string, string>>()

/**
 * Makes a statement with the decoder of its rows. Without a decoder, rows can only be counted. Every connection prepares it once and
 * then uses its name.
 */
export function statement(name: string, text: string): Statement<true>
export function statement<T>(name: string, text: string, read: (row: Row) => T): Statement<T>
export function statement(name: string, text: string, read: (row: Row) => unknown = () => true): Statement<unknown> {
  return { name, text, read }
}

/** The decoder of a statement refuses a row. */
export class UnreadableRowError extends Error {
  override readonly name = 'UnreadableRowError'
}

/**
 * Runs a statement and returns its rows, decoded.
 * @throws UnreadableRowError for a row that the statement's decoder refuses.
 */
export async function run<T>(
  executor: Executor | PoolClient,
  context: { readonly schema: string; readonly prepared?: boolean | undefined },
  one: Statement<T>,
  values: readonly unknown[] = [],
): Promise<readonly T[]> {
  const query = {
    ...(context.prepared === false ? {} : { name: `${context.schema}.${one.name}` }),
    text: textOf(one, context.schema),
    values: [...values],
  }
  const result: { readonly rows: readonly Row[] } = await ('send' in executor
    ? executor.send(query)
    : executor.query(query))
  return result.rows.map((row) => readWith(one, row))
}

function readWith<T>({ read }: Statement<T>, row: Row): T {
  try {
    return read(row)
  } catch (error) {
    throw new UnreadableRowError(error instanceof Error ? error.message : 'The row cannot be read.', { cause: error })
  }
}

/** The columns of a decoder in the list of a statement. Never `*`: see `RowDecoder.columns`. */
export function listOf({ columns }: { readonly columns: readonly string[] }, alias?: string): string {
  return columns.map((name) => (alias === undefined ? name : `${alias}.${name}`)).join(', ')
}

function textOf(one: Statement<unknown>, schema: string): string {
  let perSchema = texts.get(one)
  if (perSchema === undefined) {
    perSchema = new Map()
    texts.set(one, perSchema)
  }
  let text = perSchema.get(schema)
  if (text === undefined) {
    text = one.text.replaceAll('{{schema}}', schema)
    perSchema.set(schema, text)
  }
  return text
}
