/** Writes the SQL of the package in the working folder into a module of its sources, so that no program reads it from disk. */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const target = 'src/generated/sql.ts'

const files = globSync('sql/**/*.sql')
  .map((path) => path.replaceAll('\\', '/'))
  .sort()
const entries = files.map((path) => `  ${toText(path.slice('sql/'.length))}: ${toText(readFileSync(path, 'utf8'))},\n`)
const dump = existsSync('schema.txt')
  ? `\n/** The dump of the schema that this SQL makes. */\nexport const schemaDump = ${toText(readFileSync('schema.txt', 'utf8'))}\n`
  : ''
const text = `/** The files of SQL of this package, by their paths. The build writes this module. */
export const sqlFiles: Readonly<Record<string, string>> = {
${entries.join('')}}
${dump}`

// An unchanged file keeps its time, so that the compiler has nothing to do.
if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
  mkdirSync('src/generated', { recursive: true })
  writeFileSync(target, text)
}

function toText(text: string): string {
  return JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}
