import { type File, type Finding, isPublished } from './repository.ts'
import { parse } from './syntax.ts'

/** Where pg-boss is known: one folder, and the SQL of these names. */
const room = /^packages\/adapters-pg\/(src\/queue\/|sql\/(functions|views)\/queue_)/

const sql = /^packages\/adapters-pg\/sql\/(functions|views)\//

/**
 * Names of pg-boss's tables and columns, and tokens for them. Of its words, others use `retry_count`, which distinguishes two fetches of
 * a job, and `heartbeat_seconds`, which is an option of ours.
 */
const names = [
  ...['queue_table', 'queue_info', 'retry_limit', 'expire_seconds', 'keep_until', 'start_after', 'started_on'],
  ...['completed_on', 'created_on', 'heartbeat_on', 'priority', 'monitor_on', 'monitor_claim_on', 'maintain_on'],
]
const known = new RegExp(`\\b(${names.join('|')})\\b|\\{\\{queue\\}\\}`)

/** Finds what knows pg-boss outside of the room of the queue: its library, its tables and their columns. Prose may name them. */
export const findQueueOutside = (file: File): readonly Finding[] => {
  if (room.test(file.path)) return []
  if (sql.test(file.path))
    return findNames(file, withoutComments(file.text, [...file.text.matchAll(/--.*/g)].map(rangeOf)))
  if (!isPublished(file) || !file.path.startsWith('packages/adapters-pg/src/')) return []
  const { comments, specifiers } = parse(file)
  const imported = specifiers.includes('pg-boss') ? [`${file.path}: imports pg-boss; only src/queue may`] : []
  return [...imported, ...findNames(file, withoutComments(file.text, comments))]
}

const findNames = ({ path }: File, text: string): readonly Finding[] =>
  text.split('\n').flatMap((line, index) => {
    const name = known.exec(line)?.[0]
    return name === undefined
      ? []
      : [`${path}:${index + 1}: ${name} is pg-boss's; call or read what the room of the queue offers`]
  })

interface Range {
  readonly start: number
  readonly end: number
}

const rangeOf = ({ index, 0: text }: RegExpExecArray): Range => ({ start: index, end: index + text.length })

const withoutComments = (text: string, comments: readonly Range[]): string =>
  comments.reduce(
    (rest, { start, end }) => rest.slice(0, start) + rest.slice(start, end).replace(/[^\n]/g, ' ') + rest.slice(end),
    text,
  )
