import type { Bug } from './bugs.ts'
import { checkAll, type ForeignTransfer, type Violation } from './invariants.ts'
import { watchStatuses } from './invariants-events.ts'
import { watchWallets } from './invariants-ledger.ts'
import type { Court } from './judging/court.ts'
import type { Lane } from './lane.ts'
import type { Plan } from './plan.ts'
import { settle } from './settle.ts'
import { take } from './steps.ts'
import { makeTenant, type Tenant } from './tenant.ts'
import { type Surroundings, startWorker, type Worker } from './worker.ts'

/** What became of one run. */
export interface Outcome {
  readonly violations: readonly Violation[]
  /** The steps that were taken, with what came of them. */
  readonly trace: readonly string[]
  readonly payouts: number
  readonly faults: number
}

/** One run while it goes on. */
export interface Run extends Surroundings {
  readonly plan: Plan
  /** The host application: it enqueues and commands, and does no work. */
  readonly office: Worker
  readonly workers: Map<number, Worker>
  readonly retired: Worker[]
  /** Idempotency keys that reached the service. */
  readonly keysSeen: Set<string>
  /** Transfers that somebody else made, by their id at the service. */
  readonly foreign: Map<string, ForeignTransfer>
  /** Accounts whose foreign transfers are adopted. */
  readonly watched: Set<string>
  /** What went wrong in a way that is never right, whatever the faults. */
  readonly mistakes: string[]
  /** Faults of the network, the server and handlers, and those that befell workers which are gone. */
  faults: number
  /** Notes the keys that reach the service from now on. */
  watch(): void
}

/** Carries out a plan on a lane, lets everything settle, and checks what must hold; with a court, the judge does so too. */
export async function run(found: Lane, plan: Plan, bug: Bug | undefined, court?: Court): Promise<Outcome> {
  const lane = court?.lane ?? found
  await lane.clean()
  lane.proxy.faults.clear()
  const tenants: Tenant[] = []
  const links = plan.steps.some((step) => 'payouts' in step && step.payouts.some(({ kind }) => kind === 'debit'))
  for (let index = 0; index < plan.tenants; index += 1) tenants.push(await makeTenant(lane, plan.seed, index, links))
  await court?.begin(tenants)
  const around = { lane, seed: plan.seed, bug, tenants, handlersToFail: 0 }
  const office = await startWorker(around, { works: false, isSteady: true })
  const at: Run = Object.assign(around, {
    plan,
    office,
    workers: new Map(),
    retired: [],
    keysSeen: new Set<string>(),
    foreign: new Map(),
    watched: new Set<string>(),
    mistakes: [],
    faults: 0,
    watch: () => watchKeys(at),
  })
  at.watch()
  lane.mailroom.mischief = 'none'
  lane.mailroom.reader = (letter) => readLetter(at, letter)
  const watches = [watchStatuses(lane), watchWallets(lane)]
  const look = () => Promise.all([...watches.map((watch) => watch.look()), court?.look()])
  const trace: string[] = []
  try {
    for (const step of plan.steps) {
      const note = await take(at, step).catch((error: Error) => `failed: ${error.message}`)
      trace.push(`${JSON.stringify(step)}${note === '' ? '' : ` -> ${note}`}`)
      await look()
    }
    trace.push(await settle(at))
    await look()
    return {
      violations: [
        ...watches.flatMap(({ violations }) => violations),
        ...(await checkAll(at)),
        ...((await court?.judge(at)) ?? []),
      ],
      trace,
      payouts: plan.steps.reduce((sum, step) => sum + ('payouts' in step ? step.payouts.length : 0), 0),
      faults: at.faults,
    }
  } finally {
    lane.mailroom.reader = async () => 503
    for (const worker of [...at.workers.values(), ...at.retired, office]) await worker.stop()
    for (const { client } of tenants) await client.close()
  }
}

function watchKeys(at: Run): void {
  at.lane.proxy.faults.add({
    method: 'POST',
    path: /transfers$/,
    where: ({ headers }) => {
      at.keysSeen.add(String(headers['idempotency-key']))
      return false
    },
    fault: { kind: 'delay_request', ms: 0 },
  })
}

async function readLetter(at: Run, letter: Parameters<Lane['mailroom']['reader']>[0]): Promise<number> {
  const { accountId, body, headers } = letter
  return (await at.office.engine.webhook({ body, headers }, { accountId })).status
}
