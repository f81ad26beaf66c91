/** A soak with real processes in real time. See "Soak" in docs/reliability/searching.md. */
import { writeFile } from 'node:fs/promises'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { showProgress } from '../site/progress.ts'
import { isClean } from '../site/report.ts'
import { isKept } from '../site/site-recorder.ts'
import { reportSoak } from './report.ts'
import { runSoak } from './soak.ts'

const usage = `Usage: soak [--minutes M] [--rate R] [--json FILE] [--history DIR]

  --minutes M   writes payouts for so long; default 5
  --rate R      payouts in a second; default 40
  --json FILE   also writes every sample and what came of it to FILE
  --history DIR keeps in DIR what was recorded for the judge
`

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '5' },
      rate: { type: 'string', default: '40' },
      json: { type: 'string' },
      history: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const [minutes, rate] = [Number(values.minutes), Number(values.rate)]
  if (values.help || !(minutes > 0) || !(rate > 0)) {
    process.stdout.write(usage)
    return values.help ? 0 : 2
  }
  const progress = showProgress(process.stdout)
  const result = await runSoak({
    seed: 1,
    forMs: minutes * 60_000,
    rate,
    history: values.history,
    onSample: ({ payouts, memory, latencies }) => {
      const rss = Object.entries(memory).map(([name, bytes]) => `${name} ${Math.round(bytes / 2 ** 20)} MB`)
      const p99 = Math.round(latencies['enqueue to accepted, p99'] ?? 0)
      progress.update(`${payouts} payouts, accepted within ${p99} ms at p99; ${rss.join(', ')}`)
    },
  })
  progress.end()
  process.stdout.write(`\n${reportSoak(result).join('\n')}\n`)
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify({ minutes, ...result }, null, 2)}\n`)
  return isClean(result.verdict) && isKept(result.judged) && result.restMs !== null ? 0 : 1
}

process.exitCode = await main()
