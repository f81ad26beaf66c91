// Measures from the start of a process to its commit, of each bundle in turn, and fails above a ratio, if one is given:
// node lambda/measure.mjs 2 ../bundles/pg.mjs ../bundles/outlay.mjs
import { execFileSync } from 'node:child_process'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import pg from 'pg'

const runs = 20
const [largestRatio, ...bundles] = process.argv.slice(2)

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
await postgres({ driver: pgDriver(pool) }).migrate()
await pool.query('create table if not exists lambda_invoice (id text primary key)')
await pool.end()

const start = (bundle, round) =>
  Number(
    execFileSync(process.execPath, [bundle, `${process.env.INVOICE}-${Date.now()}-${round}`], { encoding: 'utf8' }),
  )
const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[runs / 2 - 1] + sorted[runs / 2]) / 2
}

// The first round fills the caches of the disk and of the database.
const times = bundles.map(() => [])
for (let round = 0; round <= runs; round += 1)
  for (const [index, bundle] of bundles.entries()) {
    const ms = start(bundle, round)
    if (!(ms > 0)) throw new Error(`${bundle} did not commit.`)
    if (round > 0) times[index].push(ms)
  }
const [alone, ours] = times.map(median)
const ratio = ours / alone
console.log(`${ours.toFixed(0)} ms with Outlay, ${alone.toFixed(0)} ms with pg alone: ${ratio.toFixed(2)} times`)
if (largestRatio !== 'unlimited' && !(ratio <= Number(largestRatio))) process.exitCode = 1
