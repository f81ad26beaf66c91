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

/**
 * The one file of a package in which its tests, or a program beside the packages, know the queue behind the engine, and the example of a
 * library that would drop the queue's tables.
 */
const doors = [
  ...['packages/adapters-pg/test/queue.ts', 'packages/cli/test/queue.ts', 'packages/testing/src/conformance/queue.ts'],
  ...['bench/src/contenders/queue.ts', 'e2e/src/queue.ts', 'examples/payroll/src/report.ts', 'simulator/src/queue.ts'],
  ...['examples/fastify-mikro-orm/src/database.ts', 'packages/console/test/queue.ts'],
]

/** Tables and columns of pg-boss as tests write them. */
const stored = /\boutlay(_\w+)?_queue\b|\b(start_after|started_on|heartbeat_on|monitor_on)\b/

/** Finds tests and programs that know the queue behind the engine, though their package has a file for that. */
export const findQueueInTests = (file: File): readonly Finding[] => {
  if (!/\.m?ts$/.test(file.path) || room.test(file.path) || /^tidy\//.test(file.path) || doors.includes(file.path))
    return []
  return withoutComments(file.text, parse(file).comments)
    .split('\n')
    .flatMap((line, index) => {
      const name = stored.exec(line)?.[0]
      return name === undefined
        ? []
        : [`${file.path}:${index + 1}: ${name} is the queue's; only a package's queue.ts knows it`]
    })
}

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
