import { quoteIdentifier } from '../database/statement.ts'
import { queueTokens } from '../queue/queue.ts'

/** The names of an engine's schemas and channel, from which its SQL is made. */
export interface DatabaseNames {
  readonly schema: string
  readonly queueSchema: string
  /** Channel of its notifications. */
  readonly channel: string
  /** Values of the tokens of its SQL. */
  readonly tokens: Readonly<Record<string, string>>
}

/** Makes the names of an engine; the schema is `outlay` and the queue's has `_queue` behind it unless they are given. */
export function resolveNames(names: {
  readonly schema?: string | undefined
  readonly queueSchema?: string | undefined
}): DatabaseNames {
  const { schema = 'outlay' } = names
  const quoted = quoteIdentifier(schema)
  const queueSchema = names.queueSchema ?? `${schema}_queue`
  quoteIdentifier(queueSchema)
  const channel = `${schema}_wake`
  return {
    schema,
    queueSchema,
    channel,
    tokens: { ...queueTokens(queueSchema), schema: quoted, channel },
  }
}
