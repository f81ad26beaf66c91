/**
 * Writes the SQL that creates pg-boss's schema into a module of the package in the working folder. So a process that starts no workers
 * does not load pg-boss, which would be a third of the time that a small program takes to start.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

const target = 'src/generated/queue-sql.ts'

const { getConstructionPlans } = createRequire(resolve('package.json'))('pg-boss') as {
  getConstructionPlans(schema: string): string
}
/** A name that occurs nowhere else in the text: pg-boss writes the name of the schema into it and computes nothing from it. */
const placeholder = 'outlay_placeholder'
const plans = JSON.stringify(getConstructionPlans(placeholder).replaceAll(placeholder, '{{queue_schema}}'))
const text = `/** SQL text that creates pg-boss's schema, with a token for its name. The build writes this module. */
export const queuePlans = ${plans}
`

// An unchanged file keeps its time, so that the compiler has nothing to do.
if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
  mkdirSync('src/generated', { recursive: true })
  writeFileSync(target, text)
}
