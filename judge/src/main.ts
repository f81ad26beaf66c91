/** Judges a recorded history. See "The judge" in docs/reliability/searching.md. */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { readHistory } from './history.ts'
import { judge, report } from './verdict.ts'

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { history: { type: 'string' }, json: { type: 'boolean', default: false } } })
  if (values.history === undefined) {
    process.stderr.write('Usage: node judge/src/main.ts --history DIR [--json]\n')
    return 2
  }
  const verdict = judge(await readHistory(values.history))
  process.stdout.write(values.json ? `${JSON.stringify(verdict, null, 2)}\n` : `${report(verdict).join('\n')}\n`)
  return verdict.violations.length === 0 ? 0 : 1
}

process.exitCode = await main()
