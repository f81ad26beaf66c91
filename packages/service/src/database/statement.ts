import type { PoolClient } from 'pg'

/** One SQL statement with its own name; `{{schema}}` stands for the service's schema. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A statement in the form that the server gets. */
export interface ExecutorQuery {
  readonly name?: string | undefined
  readonly text: string
  readonly values: readonly unknown[]
}

/** Runs single statements of one tenant. A pool is not one: statements that run on it directly see no rows. */
export interface Executor {
  send<Row extends object>(query: ExecutorQuery): Promise<{ readonly rows: Row[] }>
}

const texts = new WeakMap<Statement, Map<string, string>>()

/** Makes a statement. Every connection prepares it once and then uses its name. */
export function statement(name: string, text: string): Statement {
  return { name, text }
}

/** Runs a statement and returns its rows. */
export async function run<Row extends object>(
  executor: Executor | PoolClient,
  context: { readonly schema: string; readonly prepared?: boolean | undefined },
  one: Statement,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const query = {
    ...(context.prepared === false ? {} : { name: `${context.schema}.${one.name}` }),
    text: textOf(one, context.schema),
    values: [...values],
  }
  const result = await ('send' in executor ? executor.send<Row>(query) : executor.query<Row>(query))
  return result.rows
}

function textOf(one: Statement, schema: string): string {
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
