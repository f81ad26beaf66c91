import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrateDatabase, openDatabase } from '@outlay/example-payroll/database'
import { createPayrollEngine } from '@outlay/example-payroll/engine'
import { hire, openCompany, wages } from '@outlay/example-payroll/onboarding'
import { runPayroll } from '@outlay/example-payroll/payroll'
import { openSandbox } from '@outlay/example-payroll/sandbox'
import { createClient } from '@outlay/http-client'
import { inTransaction, registerClient } from '@outlay/service'
import { openService } from './service.ts'
import { demand, type Environment, readAccess, readDatabase, readDatabaseOfProcess } from './settings.ts'

/** Pause between two counts of what is final, in milliseconds. */
const pauseMs = 500

/** Migrates the tables of the payroll application and of its engine. */
export async function migratePayroll(env: Environment): Promise<void> {
  const db = openDatabase(readDatabase(env))
  try {
    // The engine calls the service only when it works, so any address will do.
    const nobody = { baseUrl: 'http://127.0.0.1', credentials: { clientId: '-', clientSecret: '-' } }
    await migrateDatabase(db)
    await createPayrollEngine(db, nobody).migrate()
  } finally {
    await db.$client.end()
  }
}

/** Migrates the tables of the service, its engine and its queue. */
export async function migrateService(env: Environment): Promise<void> {
  const { service, pool } = openService(env)
  try {
    await service.migrate()
  } finally {
    await pool.end()
  }
}

/**
 * Registers a client at the service and writes its credentials to CREDENTIALS_FILE, readable by this user alone. A file that exists stays as it is:
 * the job may run again. Returns whether it registered one.
 */
export async function register(env: Environment): Promise<boolean> {
  const path = demand(env, 'CREDENTIALS_FILE')
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined
    throw error
  })
  if (file === undefined) return false
  const { service, pool } = openService(env)
  try {
    await inTransaction(service.context, async (tx) => {
      const { clientId, clientSecret } = await registerClient(tx, service.context, {
        name: 'Payroll application',
        environment: 'mainnet',
      })
      // Before the commit: credentials that nobody has would be of no use.
      await file.writeFile(`${JSON.stringify({ CLIENT_ID: clientId, CLIENT_SECRET: clientSecret })}\n`)
    })
    return true
  } finally {
    await file.close()
    await pool.end()
  }
}

/** The result of a payroll. */
export interface Payday {
  readonly paid: number
  readonly refused: number
}

/** How much a payday is. */
export interface PaydayOptions {
  readonly people?: number | undefined
  /** How often it lets a quarter of a day pass, about twice a second, before it gives up. Default 600. */
  readonly rounds?: number | undefined
}

/**
 * Opens a company with people and play money, runs its payroll, and lets the days of the simulated banks pass until all of it is final.
 * @throws Error when something of it is not final after all rounds.
 */
export async function payday(env: Environment, { people = 40, rounds = 600 }: PaydayOptions = {}): Promise<Payday> {
  const access = readAccess(env)
  const db = openDatabase(readDatabaseOfProcess(env))
  const client = createClient(access)
  try {
    const engine = createPayrollEngine(db, access)
    const company = await openCompany(db, client, 'Birch Bakery', 'new')
    await hire(db, client, company, people, new AbortController().signal)
    const sandbox = await openSandbox(access)
    await sandbox.deposit(company, await wages(db, company))
    await runPayroll(db, engine, company, new Date().toISOString())
    let count = (_: string) => people
    for (let round = 0; round < rounds; round += 1) {
      const { rows } = await db.$client.query<{ status: string; count: string }>(
        `select s.status, count(*) from payslip s join payroll_run r on r.id = s.run_id where r.company_id = $1 group by s.status`,
        [company.id],
      )
      count = (status) => Number(rows.find((row) => row.status === status)?.count ?? 0)
      if (count('payable') === 0) return { paid: count('paid'), refused: count('refused') }
      await sandbox.advance(6)
      await sleep(pauseMs)
    }
    throw new Error(
      `${count('payable')} of ${people} payslips are not final after ${rounds / 4} days of the simulated banks. Run "outlay doctor" on the database of the application, and read the logs of its workers.`,
    )
  } finally {
    await client.close()
    await db.$client.end()
  }
}
