import { writeFile } from 'node:fs/promises'
import { parseCommandLine, type RunOptions, usage } from './command-line.ts'
import { type ContestResult, runContest, type Workload } from './contest.ts'
import { describeMachine } from './machine.ts'
import { showProgress } from './progress.ts'
import { reportContest } from './report.ts'
import { type BenchServer, openServer } from './server.ts'
import { backendKill } from './workloads/backend-kill.ts'
import { batches } from './workloads/batches.ts'
import { contention } from './workloads/contention.ts'
import { dispatch } from './workloads/dispatch.ts'
import { drain } from './workloads/drain.ts'
import { endToEnd } from './workloads/end-to-end.ts'
import { enqueue } from './workloads/enqueue.ts'
import { enqueueMany } from './workloads/enqueue-many.ts'
import { fairness } from './workloads/fairness.ts'
import { growth } from './workloads/growth.ts'
import { guaranteesWorkload } from './workloads/guarantees.ts'
import { heldSnapshot } from './workloads/held-snapshot.ts'
import { hotWallet } from './workloads/hot-wallet.ts'
import { limitsWorkload } from './workloads/limits.ts'
import { nodeOutage } from './workloads/node-outage.ts'
import { pickUp } from './workloads/pick-up.ts'
import { polling } from './workloads/polling.ts'
import { restart } from './workloads/restart.ts'
import { scaleOut } from './workloads/scale-out.ts'
import { screening } from './workloads/screening.ts'
import { service } from './workloads/service.ts'
import { shardsWorkload } from './workloads/shards.ts'
import { snapshot } from './workloads/snapshot.ts'
import { tableGrowth } from './workloads/table-growth.ts'
import { wakeUp } from './workloads/wake-up.ts'

const workloads: readonly Workload[] = [
  enqueue,
  enqueueMany,
  dispatch,
  drain,
  wakeUp,
  pickUp,
  fairness,
  scaleOut,
  snapshot,
  growth,
  polling,
  service,
  hotWallet,
  endToEnd,
  restart,
  backendKill,
  heldSnapshot,
  tableGrowth,
  contention,
  batches,
  shardsWorkload,
  nodeOutage,
  limitsWorkload,
  screening,
  guaranteesWorkload,
]
const defaultRounds = 5

const say = (text: string) => process.stdout.write(`${text}\n`)

async function runWorkload(workload: Workload, server: BenchServer, options: RunOptions) {
  const { rounds = defaultRounds, seconds = workload.seconds, size = workload.size ?? 0 } = options
  say(`\n## ${workload.name}\n\n${workload.title} ${rounds} rounds of ${seconds} s per contender, interleaved.\n`)
  const open = await workload.open(server.url, size, server.restart)
  const results: ContestResult[] = []
  try {
    for (const contest of open.contests) {
      const progress = showProgress(contest.contenders.length * (rounds + 1))
      const onTurn = (turn: string) => progress.step(`${contest.name}: ${turn}`)
      const result = await runContest(contest, { rounds, seconds, onTurn }).finally(progress.stop)
      say(reportContest(result))
      results.push(result)
    }
  } catch (error) {
    // Reported before the databases are dropped, because workers and connections that lose them report other errors.
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    throw error
  } finally {
    await open.close()
  }
  return { workload: workload.name, title: workload.title, rounds, seconds, size, results }
}

/** Refuses a workload that restarts the server where that is not ours; among all workloads it is left out. */
function canRun({ name, restartsServer = false }: Workload, { canRestart }: BenchServer, options: RunOptions): boolean {
  if (!restartsServer || canRestart) return true
  const refusal = `The workload ${name} restarts the server, which a server that is given by its URL is not: unset OUTLAY_BENCH_DATABASE_URL.`
  if (options.workloads.includes(name)) throw new Error(refusal)
  say(`\n## ${name}\n\nLeft out. ${refusal}`)
  return false
}

async function main(): Promise<void> {
  const known = workloads.map((workload) => workload.name)
  const options = parseCommandLine(process.argv.slice(2), known)
  if (options === undefined) return void say(usage)
  const chosen = workloads.filter(({ name }) => options.workloads.length === 0 || options.workloads.includes(name))
  const server = await openServer(process.env['OUTLAY_BENCH_DATABASE_URL'])
  try {
    const environment = [...describeMachine(), ...server.description]
    say(environment.map((line) => `- ${line}`).join('\n'))
    const runs = []
    for (const workload of chosen.filter((one) => canRun(one, server, options)))
      runs.push(await runWorkload(workload, server, options))
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify({ environment, runs }, null, 2)}\n`)
  } finally {
    await server.close()
  }
}

await main()
