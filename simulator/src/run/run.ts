import type { Gateway } from '@outlay/core'
import type { Bug } from '../bugs/bug.ts'
import { endsWithin, longestRunMs, longestStopMs, nameWaiting } from '../environment/bounded.ts'
import type { Environment } from '../environment/environment.ts'
import { makeTenants, type Tenant, type TenantOptions } from '../environment/tenant.ts'
import { checkBatches, watchBatches } from '../invariants/batches.ts'
import { checkCorrections, checkSearches } from '../invariants/corrections.ts'
import { watchLookalikes } from '../invariants/earlier-payments.ts'
import { watchStatuses } from '../invariants/events.ts'
import { checkAll } from '../invariants/invariants.ts'
import { watchWallets } from '../invariants/ledger.ts'
import { watchLimits } from '../invariants/limits.ts'
import type { Court } from '../judging/court.ts'
import type { Course, Kept } from '../order/course.ts'
import type { Patience } from '../order/line.ts'
import { createOrder, type Order } from '../order/order.ts'
import type { Plan } from '../plan/plan.ts'
import type { Violation, Watch } from '../violation.ts'
import { createMisconduct } from '../workers/misconduct.ts'
import { inOrder } from '../workers/strikes.ts'
import { inTurns } from '../workers/turns.ts'
import { noteTakeovers } from '../workers/two-gateways.ts'
import { openGateway, startWorker, type Worker } from '../workers/worker.ts'
import { completeBatches } from './batches.ts'
import { endHolds, noteVictim } from './holds.ts'
import { gatherAccounts, placeAccounts } from './places.ts'
import { returnTheRest } from './returned-payments.ts'
import type { Hold, Run } from './run-state.ts'
import { settle } from './settle.ts'
import { runStep } from './steps.ts'

/** What became of one run. */
export interface Outcome {
  readonly violations: readonly Violation[]
  /** The executed steps, with their results. */
  readonly trace: readonly string[]
  readonly payouts: number
  readonly faults: number
  /** The order of events while the steps ran. */
  readonly course: Course
  /** How far an earlier one was kept to. */
  readonly enforced: Kept
  /** True when something of it hangs, so that its environment is good for nothing any more. */
  readonly hangs: boolean
}

/** What a run can be given beside its plan. */
export interface RunOptions {
  /** The judge checks the run, too. */
  readonly court?: Court | undefined
  /** The course of an earlier run, which this one is held to. */
  readonly earlier?: Course | undefined
  /** Default: that of a replay. */
  readonly patience?: Patience | undefined
}

/** Carries out a plan in an environment, lets everything settle, and checks what must hold; with a court, the judge does so too. */
export async function run(
  found: Environment,
  plan: Plan,
  bug: Bug | undefined,
  { court, earlier, patience }: RunOptions = {},
): Promise<Outcome> {
  const environment = court?.environment ?? found
  await environment.clean()
  environment.proxy.faults.clear()
  const tenants = await makeTenants(environment, plan.seed, tenantOptions(plan))
  await court?.begin(tenants)
  await placeAccounts(environment, tenants)
  const around = surround(environment, plan, bug, tenants, createOrder(earlier, patience))
  const office = guard(await startWorker(around, { works: false, isSteady: true }), around.mistakes)
  const at: Run = Object.assign(around, {
    plan,
    sharesClient: plan.sharesClient,
    office,
    workers: new Map(),
    retired: [],
    toRefuse: new Map<number, number>(),
    foreign: new Map(),
    paidOtherwise: new Set<string>(),
    watched: new Set<string>(),
    ...noControl(),
    forgottenAt: [],
    ...nothingYet(),
    faults: 0,
    starts: 0,
    watch: () => watchKeys(at),
  })
  at.watch()
  receiveWebhooks(at)
  const watches = watchAll(environment)
  const check = () => Promise.all([...watches.map((watch) => watch.check()), court?.check()])
  const trace: string[] = []
  const violations: Violation[] = []
  let under = 'the first step'
  const play = async () => {
    for (const [index, step] of plan.steps.entries()) {
      under = `step ${index}, ${step.do}`
      const runOnce = () => runStep(at, step).catch((error: Error) => `failed: ${error.message}`)
      const note = await at.order.pass('plan', `step ${index}`, [], runOnce)
      trace.push(`${JSON.stringify(step)}${note === '' ? '' : ` -> ${note}`}`)
      await check()
    }
    at.order.stop()
    under = 'settling'
    const settled = (await settle(at)) + (await completeBatches(at))
    await check()
    trace.push(settled + (await returnTheRest(at)) + countMoves(at))
    await check()
    violations.push(...watches.flatMap((watch) => watch.violations), ...(await checkAtRest(at, court)))
  }
  let hangs = false
  try {
    if (!(await endsWithin(longestRunMs, play()))) {
      hangs = true
      violations.push(...at.mistakes, ...(await nameWaiting(environment, `${under} does not end`)))
    }
  } finally {
    if (!(await endsWithin(longestStopMs, end(at, tenants)))) {
      hangs = true
      violations.push(...(await nameWaiting(environment, 'workers do not stop')))
    }
  }
  const payouts = plan.steps.reduce((sum, step) => sum + ('payouts' in step ? step.payouts.length : 0), 0)
  return { violations, trace, payouts, faults: at.faults, course: at.order.course, enforced: at.order.enforced, hangs }
}

/** Transfers that a person has to let go, by the reason. */
const noControl = () => ({
  toApprove: new Set<string>(),
  toScreen: new Set<string>(),
  firstPayments: new Set<string>(),
  toCompare: new Set<string>(),
})

const nothingYet = () => ({
  keysSeen: new Set<string>(),
  arrivals: new Map<string, number>(),
  holds: new Set<Hold>(),
  moves: new Set<Promise<string>>(),
  movesEnded: new Map<string, number>(),
})

const watchAll = (environment: Environment): readonly Watch[] => [
  ...[watchStatuses(environment), watchWallets(environment), watchBatches(environment), watchLimits(environment)],
  watchLookalikes(environment),
]

function receiveWebhooks(at: Run): void {
  at.environment.webhookProxy.mischief = 'none'
  at.environment.webhookProxy.reader = (webhook) => receiveWebhook(at, webhook)
}

async function checkAtRest(at: Run, court: Court | undefined): Promise<readonly Violation[]> {
  if (at.twoGateways) await noteTakeovers(at.environment.host, at.tenants)
  const judged = (await court?.judge(at)) ?? []
  const whole = await gatherAccounts(at)
  const checks = [checkBatches, checkCorrections, checkSearches]
  return [...(await checkAll(whole)), ...judged, ...(await Promise.all(checks.map((check) => check(whole)))).flat()]
}

/** Ends everything that a run has started. */
async function end(at: Run, tenants: readonly Tenant[]): Promise<void> {
  at.order.stop()
  at.environment.webhookProxy.reader = async () => 503
  await endHolds(at)
  at.misconduct.heal()
  for (const worker of [...at.workers.values(), ...at.retired, at.office]) await worker.stop()
  await at.closeCommonGateway()
  for (const { client } of tenants) await client.close()
}

function tenantOptions({ tenants: count, sharesClient, twoGateways = false, steps }: Plan): TenantOptions {
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
    twoGateways,
    links: steps.some((step) => 'payouts' in step && step.payouts.some(({ kind }) => kind === 'debit')),
    hasTwoClients: steps.some((step) => step.do === 'change_client'),
    hasQuotes: steps.some((step) => step.do === 'quote'),
    hasPolicies: steps.some((step) => ['set_policies', 'set_screening', 'set_payments'].includes(step.do)),
    placeOf: ({ number }) => places.get(number) ?? number,
  }
}

function surround(found: Environment, plan: Plan, bug: Bug | undefined, tenants: readonly Tenant[], order: Order) {
  const numbers = new Map<string, number>()
  const environment = inOrder(found, { numbers, tenants }, order)
  const misconduct = createMisconduct()
  let common: Gateway | undefined
  return {
    environment,
    seed: plan.seed,
    bug,
    tenants,
    handlersToFail: 0,
    effects: 0,
    misconduct,
    mistakes: [] as Violation[],
    sent: new Set<string>(),
    batches: { ids: new Map(), paused: new Map(), canceled: new Map() },
    dismissed: new Set<string>(),
    reads: new Map<string, number>(),
    isScheduling: plan.steps.some((step) => 'payouts' in step && step.payouts.some(({ inSeconds }) => inSeconds)),
    isScreening: plan.steps.some((step) => step.do === 'set_screening'),
    verdicts: [] as ('hold' | 'refuse')[],
    passed: new Set<string>(),
    twoGateways: plan.twoGateways === true,
    order,
    numbers,
    commonGateway: () => (common ??= openGateway({ environment, tenants, misconduct, bug })),
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
    transaction: (accountId, work) =>
      office.transaction(accountId, work).catch((error: unknown) => {
        noteVictim({ mistakes }, error)
        throw error
      }),
  }
}

const countMoves = ({ movesEnded }: Run): string =>
  movesEnded.size === 0 ? '' : `; moves: ${[...movesEnded].map(([what, count]) => `${count} ${what}`).join(', ')}`

function watchKeys(at: Run): void {
  at.environment.proxy.faults.add({
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

/** The gateway of the transfer that a webhook is about, as a host knows it that has an address for each; the first one for strangers. */
async function gatewayOf({ environment }: Run, body: string): Promise<string> {
  const ids = body.match(/[0-9A-Za-z_-]{20,}/g) ?? []
  const { rows } = await environment.host.query<{ readonly gateway: string }>(
    'select t.gateway from outlay.transfer t where t.remote_id = any ($1) limit 1',
    [ids],
  )
  return rows[0]?.gateway ?? 'default'
}

async function receiveWebhook(at: Run, webhook: Parameters<Environment['webhookProxy']['reader']>[0]): Promise<number> {
  const { accountId, body, headers } = webhook
  const read = async () => {
    const gateway = at.twoGateways ? await gatewayOf(at, body.toString('utf8')) : 'default'
    return at.office.engine.webhook({ body, headers }, { accountId, gateway })
  }
  return (await inTurns(at, 'mail').webhook(body.toString('utf8'), read)).status
}
