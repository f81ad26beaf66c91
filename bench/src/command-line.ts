import { parseArgs } from 'node:util'

/** The options of a run. */
export interface RunOptions {
  /** Workloads to run, in this order; all of them when empty. */
  readonly workloads: readonly string[]
  /** Measured rounds per contender; the workload's default when absent. */
  readonly rounds?: number | undefined
  /** Length of one measured round, in seconds; the workload's default when absent. */
  readonly seconds?: number | undefined
  /** The size of the workload; the workload's default when absent. */
  readonly size?: number | undefined
  /** File for the results as JSON. */
  readonly json?: string | undefined
}

/** The text of `--help`. */
export const usage = `bench [workload…] [--rounds N] [--seconds S] [--size N] [--json FILE]

  workload     enqueue, enqueue-many, dispatch, drain, wake-up, pick-up, fairness, scale-out, snapshot, growth,
               polling, service, hot-wallet, end-to-end, restart, backend-kill, held-snapshot, table-growth, contention,
               batches, shards, limits, guarantees; all of them when none is named
  --rounds     measured rounds per contender (default 5)
  --seconds    length of one measured round (default: the workload's own)
  --size       drain, batches, limits, guarantees: transfers; fairness: largest backlog; growth: transfers of history; polling: transfers in
               flight (default: the workload's own)
  --json       also writes every round to FILE

OUTLAY_BENCH_DATABASE_URL names your own server, by a superuser's connection string. Without it the bench starts an
embedded PostgreSQL with durability on. Your own server is not restarted, so \`restart\` needs the embedded one.`

/** Reads the command line; `undefined` when help was asked for. Throws Error with a sentence for invalid arguments. */
export function parseCommandLine(args: readonly string[], known: readonly string[]): RunOptions | undefined {
  const { values, positionals } = parseArgs({
    args: args.filter((argument) => argument !== '--'),
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      size: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help === true) return undefined
  const unknown = positionals.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`There is no workload ${unknown.join(', ')}; there are ${known.join(', ')}.`)
  const rounds = readWhole(values.rounds, '--rounds')
  const seconds = readPositive(values.seconds, '--seconds')
  return { workloads: positionals, rounds, seconds, size: readWhole(values.size, '--size'), json: values.json }
}

function readWhole(text: string | undefined, name: string): number | undefined {
  const value = readPositive(text, name)
  if (value !== undefined && !Number.isInteger(value)) throw new Error(`${name} takes a whole number.`)
  return value
}

function readPositive(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${name} takes a number above zero, not "${text}".`)
  return value
}
