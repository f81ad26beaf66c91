import type { Gateway } from '@outlay/core'
import { endsWithin, longestRunMs, longestStopMs, nameWaiting } from './bounded.ts'
import type { Bug } from './bugs.ts'
import { endHolds, type Hold, noteVictim } from './holds.ts'
import { checkAll, type ForeignTransfer, type Violation } from './invariants.ts'
import { watchStatuses } from './invariants-events.ts'
import { watchWallets } from './invariants-ledger.ts'
import type { Court } from './judging/court.ts'
import type { Lane } from './lane.ts'
import type { Patience } from './line.ts'
import { createMisconduct } from './misconduct.ts'
import { type Course, createOrder, type Kept, type Order } from './order.ts'
import type { Plan } from './plan.ts'
import { settle } from './settle.ts'
import { take } from './steps.ts'
import { inOrder } from './strikes.ts'
import { makeTenants, type Tenant, type TenantOptions } from './tenant.ts'
import { inTurns } from './turns.ts'
import { openGateway, type Surroundings, startWorker, type Worker } from './worker.ts'

/** What became of one run. */
export interface Outcome {
  readonly violations: readonly Violation[]
  /** The steps that were taken, with what came of them. */
  readonly trace: readonly string[]
  readonly payouts: number
  readonly faults: number
  /** What happened in which order while the steps were taken. */
  readonly course: Course
  /** How far an earlier one was kept to. */
  readonly enforced: Kept
  /** True when something of it hangs, so that its lane is good for nothing any more. */
  readonly hangs: boolean
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
  /** How many requests with each of them did. */
  readonly arrivals: Map<string, number>
  /** Transfers that somebody else made, by their id at the service. */
  readonly foreign: Map<string, ForeignTransfer>
  /** Accounts whose foreign transfers are adopted. */
  readonly watched: Set<string>
  /** Transactions of hosts that are open. */
  readonly holds: Set<Hold>
  readonly sharesClient: boolean
  /** Faults of the network, the server and handlers, and those that befell workers which are gone. */
  faults: number
  /** Workers that were started so far. */
  starts: number
  /** Closes what several workers share, as the end of their processes does. */
  closeCommonGateway(): Promise<void>
  /** Notes the keys that reach the service from now on. */
  watch(): void
}

/** What a run can be given beside its plan. */
export interface RunOptions {
  /** The judge looks at the run, too. */
  readonly court?: Court | undefined
  /** The course of an earlier run, which this one is held to. */
  readonly earlier?: Course | undefined
  /** Default: that of a replay. */
  readonly patience?: Patience | undefined
}

/** Carries out a plan on a lane, lets everything settle, and checks what must hold; with a court, the judge does so too. */
export async function run(
  found: Lane,
  plan: Plan,
  bug: Bug | undefined,
  { court, earlier, patience }: RunOptions = {},
): Promise<Outcome> {
  const lane = court?.lane ?? found
  await lane.clean()
  lane.proxy.faults.clear()
  const tenants = await makeTenants(lane, plan.seed, tenantOptions(plan))
  await court?.begin(tenants)
  const around = surround(lane, plan, bug, tenants, createOrder(earlier, patience))
  const office = guard(await startWorker(around, { works: false, isSteady: true }), around.mistakes)
  const at: Run = Object.assign(around, {
    plan,
    sharesClient: plan.sharesClient,
    office,
    workers: new Map(),
    retired: [],
    keysSeen: new Set<string>(),
    arrivals: new Map<string, number>(),
    foreign: new Map(),
    watched: new Set<string>(),
    holds: new Set<Hold>(),
    faults: 0,
    starts: 0,
    watch: () => watchKeys(at),
  })
  at.watch()
  lane.mailroom.mischief = 'none'
  lane.mailroom.reader = (letter) => readLetter(at, letter)
  const watches = [watchStatuses(lane), watchWallets(lane)]
  const look = () => Promise.all([...watches.map((watch) => watch.look()), court?.look()])
  const trace: string[] = []
  const violations: Violation[] = []
  let under = 'the first step'
  const play = async () => {
    for (const [place, step] of plan.steps.entries()) {
      under = `step ${place}, ${step.do}`
      const taking = () => take(at, step).catch((error: Error) => `failed: ${error.message}`)
      const note = await at.order.pass('plan', `step ${place}`, [], taking)
      trace.push(`${JSON.stringify(step)}${note === '' ? '' : ` -> ${note}`}`)
      await look()
    }
    at.order.stop()
    under = 'settling'
    trace.push(await settle(at))
    await look()
    const judged = (await court?.judge(at)) ?? []
    violations.push(...watches.flatMap((watch) => watch.violations), ...(await checkAll(at)), ...judged)
  }
  let hangs = false
  try {
    if (!(await endsWithin(longestRunMs, play()))) {
      hangs = true
      violations.push(...at.mistakes, ...(await nameWaiting(lane, `${under} does not end`)))
    }
  } finally {
    if (!(await endsWithin(longestStopMs, end(at, tenants)))) {
      hangs = true
      violations.push(...(await nameWaiting(lane, 'workers do not stop')))
    }
  }
  const payouts = plan.steps.reduce((sum, step) => sum + ('payouts' in step ? step.payouts.length : 0), 0)
  const { course, enforced } = at.order
  return { violations, trace, payouts, faults: at.faults, course, enforced, hangs }
}

/** Ends everything that a run has started. */
async function end(at: Run, tenants: readonly Tenant[]): Promise<void> {
  at.order.stop()
  at.lane.mailroom.reader = async () => 503
  await endHolds(at)
  at.misconduct.heal()
  for (const worker of [...at.workers.values(), ...at.retired, at.office]) await worker.stop()
  await at.closeCommonGateway()
  for (const { client } of tenants) await client.close()
}

function tenantOptions({ tenants: count, sharesClient, steps }: Plan): TenantOptions {
  const places = new Map<number, number>()
  const counts = new Map<number, number>()
  for (const step of steps) {
    if (!('payouts' in step)) continue
    const tenant = step.tenant % count
    for (const { number } of step.payouts) {
      const place = counts.get(tenant) ?? 0
      counts.set(tenant, place + 1)
      places.set(number, place)
    }
  }
  return {
    count,
    sharesClient,
    links: steps.some((step) => 'payouts' in step && step.payouts.some(({ kind }) => kind === 'debit')),
    hasTwoClients: steps.some((step) => step.do === 'change_client'),
    placeOf: ({ number }) => places.get(number) ?? number,
  }
}

function surround(found: Lane, plan: Plan, bug: Bug | undefined, tenants: readonly Tenant[], order: Order) {
  const numbers = new Map<string, number>()
  const lane = inOrder(found, { numbers, tenants }, order)
  const misconduct = createMisconduct()
  let common: Gateway | undefined
  return {
    lane,
    seed: plan.seed,
    bug,
    tenants,
    handlersToFail: 0,
    misconduct,
    mistakes: [] as Violation[],
    sent: new Set<string>(),
    isScheduling: plan.steps.some((step) => 'payouts' in step && step.payouts.some(({ inSeconds }) => inSeconds)),
    order,
    numbers,
    commonGateway: () => (common ??= openGateway({ lane, tenants, misconduct, bug })),
    async closeCommonGateway() {
      const closing = common
      common = undefined
      await closing?.close?.()
    },
  }
}

/** The transactions of a host, of which none may be aborted for the good of workers. */
function guard(office: Worker, mistakes: Violation[]): Worker {
  return {
    ...office,
    transaction: (work) =>
      office.transaction(work).catch((error: unknown) => {
        noteVictim({ mistakes }, error)
        throw error
      }),
  }
}

function watchKeys(at: Run): void {
  at.lane.proxy.faults.add({
    method: 'POST',
    path: /transfers$/,
    where: ({ headers }) => {
      const key = String(headers['idempotency-key'])
      at.keysSeen.add(key)
      at.arrivals.set(key, (at.arrivals.get(key) ?? 0) + 1)
      return false
    },
    fault: { kind: 'delay_request', ms: 0 },
  })
}

async function readLetter(at: Run, letter: Parameters<Lane['mailroom']['reader']>[0]): Promise<number> {
  const { accountId, body, headers } = letter
  const read = () => at.office.engine.webhook({ body, headers }, { accountId })
  return (await inTurns(at, 'mail').letter(body.toString('utf8'), read)).status
}
