import { createHash } from 'node:crypto'
import type { File, Finding } from './repository.ts'

/** SHA-256 of every migration that was ever released, by its path. */
export type Lock = Readonly<Record<string, string>>

/** Where the lock stands, relative to the repository. */
export const lockPath = 'tidy/migrations.lock.json'

/** True for a numbered migration of a published package. SQL beside them is replaced on every run and may change. */
export const isMigration = (file: File): boolean =>
  /^packages\/[^/]+\/(sql\/(directory\/)?)?migrations\/\d.*\.sql$/.test(file.path)

/** True for a file of SQL. */
export const isSql = (file: File): boolean => file.path.endsWith('.sql')

/** Hashes a migration, in hexadecimal. */
export const hash = (file: File): string => createHash('sha256').update(file.text).digest('hex')

/** Finds migrations that changed or vanished after they were locked, and those that are not locked yet. */
export const findUnlocked = (migrations: readonly File[], lock: Lock): readonly Finding[] => {
  const texts = new Map(migrations.map((file) => [file.path, file]))
  const changed = Object.entries(lock).flatMap(([path, locked]) => {
    const file = texts.get(path)
    if (file !== undefined && hash(file) === locked) return []
    return [`${path} was ${file === undefined ? 'removed' : 'changed'}; databases already ran it, so add a new one`]
  })
  const added = migrations
    .filter((file) => lock[file.path] === undefined)
    .map((file) => `${file.path} is new; lock it with: npx -y pnpm@12 lock-migrations`)
  return [...changed, ...added]
}

const keywords = [
  ...[
    'add',
    'alter',
    'and',
    'as',
    'begin',
    'between',
    'by',
    'case',
    'check',
    'column',
    'commit',
    'conflict',
    'constraint',
  ],
  ...['create', 'cross', 'declare', 'default', 'delete', 'distinct', 'do', 'drop', 'else', 'end', 'exists', 'execute'],
  ...[
    'false',
    'for',
    'force',
    'foreign',
    'from',
    'function',
    'grant',
    'group',
    'having',
    'if',
    'in',
    'index',
    'insert',
  ],
  ...[
    'into',
    'is',
    'join',
    'key',
    'language',
    'lateral',
    'left',
    'limit',
    'lock',
    'loop',
    'not',
    'nothing',
    'null',
    'on',
  ],
  ...['or', 'order', 'over', 'partition', 'perform', 'policy', 'primary', 'raise', 'references', 'return', 'returning'],
  ...[
    'returns',
    'revoke',
    'row',
    'schema',
    'security',
    'select',
    'set',
    'table',
    'then',
    'to',
    'trigger',
    'true',
    'type',
  ],
  ...['union', 'unique', 'update', 'using', 'values', 'view', 'when', 'where', 'with'],
]
const upperCase = new RegExp(`\\b(${keywords.join('|').toUpperCase()})\\b`)

/** Finds SQL keywords in upper case, outside comments, strings and quoted names. */
export const findUpperCaseSql = (file: File): readonly Finding[] => {
  const blank = (text: string) => text.replace(/[^\n]/g, ' ')
  const code = file.text.replace(/--.*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"/g, blank)
  return code.split('\n').flatMap((line, index) => {
    const word = upperCase.exec(line)?.[1]
    return word === undefined ? [] : [`${file.path}:${index + 1}: write ${word} in lower case`]
  })
}
