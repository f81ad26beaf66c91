/** Chaos with real processes in real time. See "Chaos with real processes" in docs/reliability/searching.md. */
import { writeFile } from 'node:fs/promises'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { showProgress } from '../site/progress.ts'
import { isClean } from '../site/report.ts'
import { isKept } from '../site/site-recorder.ts'
import { runChaos } from './chaos.ts'
import { reportChaos, seconds } from './report.ts'

const usage = `Usage: chaos [--minutes M] [--seed S] [--json FILE] [--history DIR]

  --minutes M   faults for so long; default 2
  --seed S      default: drawn from the time
  --json FILE   also writes every fault and what came of it to FILE
  --history DIR keeps in DIR what was recorded for the judge
`

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '2' },
      seed: { type: 'string' },
      json: { type: 'string' },
      history: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const minutes = Number(values.minutes)
  const seed = values.seed === undefined ? Math.floor(Date.now() / 1_000) % 1_000_000_000 : Number(values.seed)
  if (values.help || !(minutes > 0) || !Number.isSafeInteger(seed)) {
    process.stdout.write(usage)
    return values.help ? 0 : 2
  }
  process.stdout.write(`Seed ${seed}, faults for ${minutes} min\n`)
  const progress = showProgress(process.stdout)
  let last = 'none yet'
  let count = 0
  const result = await runChaos({
    seed,
    faultsForMs: minutes * 60_000,
    history: values.history,
    onCollapse: (what) => void process.stderr.write(`\n${what}\n`),
    onFault: ({ kind, detail, recoveryMs }) => {
      count += 1
      last = `${kind} (${detail}), recovered in ${seconds(recoveryMs)}`
    },
    onCheck: ({ queued, submitting, submitted, settled, undelivered }) =>
      progress.update(
        `${queued} queued, ${submitting} submitting, ${submitted} submitted, ${settled} settled, ${undelivered} to deliver; ${count} faults, the last one: ${last}`,
      ),
  })
  progress.end()
  process.stdout.write(`\n${reportChaos(result).join('\n')}\n`)
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify({ minutes, ...result }, null, 2)}\n`)
  return isClean(result.verdict) && isKept(result.judged) && result.restMs !== null ? 0 : 1
}

process.exitCode = await main()
