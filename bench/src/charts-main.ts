/** Draws a chart for every workload in the JSON files of runs, as `docs/performance/<workload>.svg`. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChartedRun, drawRun } from './chart.ts'

const folder = join(import.meta.dirname, '../../docs/performance')
const files = process.argv.slice(2).filter((argument) => argument !== '--')
if (files.length === 0) throw new Error('Name the files that bench --json has written.')
await mkdir(folder, { recursive: true })
for (const file of files) {
  const { environment, runs } = JSON.parse(await readFile(file, 'utf8')) as {
    readonly environment: readonly string[]
    readonly runs: readonly ChartedRun[]
  }
  for (const run of runs) {
    const chart = join(folder, `${run.workload}.svg`)
    await writeFile(chart, drawRun(run, environment))
    process.stdout.write(`${chart}\n`)
  }
}
