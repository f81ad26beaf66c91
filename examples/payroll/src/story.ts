import { setTimeout as delay } from 'node:timers/promises'
import type { Backlog, Engine } from '@outlay/core'
import type { Client } from '@outlay/http-client'
import { type Program, waitUntil } from '@outlay/testing'
import type { Database, Transaction } from './database.ts'
import { hire, isRefused, isReturned, openCompany, wages } from './onboarding.ts'
import { runPayroll, writePayroll } from './payroll.ts'
import type { Progress } from './progress.ts'
import type { Plan } from './report.ts'
import type { Sandbox } from './sandbox.ts'
import type { Company } from './schema.ts'

/** Participants of the story. */
export interface Cast {
  readonly db: Database
  readonly engine: Engine<Transaction>
  readonly client: Client
  readonly sandbox: Sandbox
  /** The worker that will be killed. */
  readonly victim: Program
  readonly progress: Progress
  /** People per company. */
  readonly people: number
  /** The account that our credentials own; those of the companies are managed below it. */
  readonly accountId: string
  readonly signal: AbortSignal
}

const period = '2026-11'
const rolledBackPeriod = '2026-11 bonus'

/** Plays the whole story, and returns the expected figures. */
export async function playStory(cast: Cast): Promise<Omit<Plan, 'hostUrl' | 'serviceUrl'>> {
  const { db, engine, sandbox, progress, people } = cast
  const { solvent, short, companies } = await openCompanies(cast)

  for (const company of companies) await runPayroll(db, engine, company, period)
  progress.say(`three transactions committed ${3 * people} payslips, each with its payout`)
  const rolledBackIds = await rollBackPayroll(cast, solvent)
  progress.say(`a fourth one enqueued ${rolledBackIds.length} more and was rolled back`)

  const half = (3 * people) / 2
  await reach(cast, 'half of the payouts to be sent', ({ queued, submitting }) => queued + submitting <= half)
  await cast.victim.kill('SIGKILL')
  progress.say('one of the two workers was killed; what it had claimed goes to the other when its heartbeat lapses')

  await reach(cast, 'one company to run short', ({ queued, awaitingFunds }) => queued === 0 && awaitingFunds > 0)
  const { awaitingFunds } = await engine.backlog()
  await sandbox.deposit(short, await wages(db, short, '0.5'))
  await db.transaction((tx) => engine.accounts.fundsArrived(tx, short.accountId))
  progress.say(`${awaitingFunds} payouts of ${short.name} waited for funds; a deposit arrived`)

  const isDone = ({ settled, undelivered }: Backlog) => settled === 3 * people && undelivered === 0
  await reach(cast, 'every payout to be final', isDone, hoursPerStep)
  progress.say('every payout is final\n')

  const count = (isSo: (index: number) => boolean) =>
    3 * Array.from({ length: people }, (_, at) => at).filter(isSo).length
  return {
    period,
    rolledBackPeriod,
    rolledBackIds,
    total: 3 * people,
    refused: count(isRefused),
    returned: count(isReturned),
  }
}

/** Opens three companies with their people. Two can fund their payroll, one has half of it. */
async function openCompanies({ db, client, sandbox, progress, people, accountId, signal }: Cast) {
  const solvent = await openCompany(db, client, 'Birch Bakery', accountId)
  const second = await openCompany(db, client, 'Cedar Clinic', accountId)
  const short = await openCompany(db, client, 'Dune Design', accountId)
  const companies = [solvent, second, short]
  await Promise.all(companies.map((company) => hire(db, client, company, people, signal)))
  for (const company of [solvent, second]) await sandbox.deposit(company, await wages(db, company))
  await sandbox.deposit(short, await wages(db, short, '0.5'))
  progress.say(`three companies with ${people} people each are registered at the service; one has half of its payroll`)
  return { solvent, short, companies }
}

/** Enqueues a payroll, and rolls the transaction back at its very end. */
async function rollBackPayroll({ db, engine }: Cast, company: Company): Promise<readonly string[]> {
  let enqueued: readonly string[] = []
  const changeOfMind = new Error('There is no bonus this year.')
  try {
    await db.transaction(async (tx) => {
      enqueued = await writePayroll(tx, engine, company, rolledBackPeriod)
      throw changeOfMind
    })
  } catch (error) {
    if (error !== changeOfMind) throw error
  }
  return enqueued
}

/** Hours that the sandbox advances with each check of the last wait, so that ACH days take seconds. */
const hoursPerStep = 12

/** Waits until the engine has reached this point. */
async function reach(cast: Cast, what: string, isReached: (backlog: Backlog) => boolean, hours = 0): Promise<void> {
  let last: Backlog | undefined
  let day = new Date().toISOString().slice(0, 10)
  await waitUntil(
    async () => {
      await delay(hours > 0 ? 100 : 250)
      cast.signal.throwIfAborted()
      if (hours > 0) day = await cast.sandbox.advance(hours)
      last = await cast.engine.backlog()
      cast.progress.update(last, day)
      return isReached(last)
    },
    { timeoutMs: 120_000 + 300 * cast.people, describe: () => `${what}; the backlog is ${JSON.stringify(last)}` },
  )
}
