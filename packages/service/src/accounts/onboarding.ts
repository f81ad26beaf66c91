import { setTimeout as pause } from 'node:timers/promises'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { createWallets, type ProvisionedWallet, provisionWallets } from '../addresses/wallets.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import type { Environment } from '../schema/caller.ts'

/** The running worker that completes accounts. */
export interface Onboarding {
  /** Stops asking and waits for what is in progress. Safe to call twice. */
  stop(): Promise<void>
}

/** When somebody who gave no answer is asked again. */
const retryMs = 60_000

/** Maximum number of accounts per round. */
const batchSize = 20

/**
 * Starts the worker that asks for what new accounts lack, in this process: the custodian for their wallets. Several processes share the
 * work, and a question whose answer is lost is repeated.
 */
export function startOnboarding(
  context: ServiceContext,
  options: { readonly pollIntervalMs?: number | undefined } = {},
): Onboarding {
  const ending = new AbortController()
  const { signal } = ending
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      await onboardDue(context).catch((error: Error) => {
        context.logger.warn({ error: error.name }, 'New accounts could not be completed; the worker tries again.')
      })
      await pause(options.pollIntervalMs ?? 1_000, undefined, { signal }).catch(() => undefined)
    }
  }
  const working = work()
  return {
    stop() {
      ending.abort()
      return working
    },
  }
}

/** Asks once for everything that is due. */
export async function onboardDue(context: ServiceContext): Promise<void> {
  if (context.custody !== undefined) await provideWallets(context)
}

async function provideWallets(context: ServiceContext): Promise<void> {
  const now = context.clock.now()
  const leasedUntil = new Date(now.getTime() + retryMs)
  const due = await run(asSystem(context), context, leaseWallets, [now, leasedUntil, batchSize])
  // Concurrently: one account whose wallets take long must not delay the others.
  await Promise.all(
    due.map(async (account) => {
      const wallets = await provisionWallets(context, account)
      if (wallets !== undefined) await writeWallets(context, account, wallets, leasedUntil)
    }),
  )
}

/** Writes the wallets once, for the lease that asked for them. */
async function writeWallets(
  context: ServiceContext,
  { id, environment }: { readonly id: string; readonly environment: Environment },
  wallets: readonly ProvisionedWallet[],
  leasedUntil: Date,
): Promise<void> {
  await inTransaction(context, async (tx) => {
    const [account] = await run(tx, context, endWallets, [id, leasedUntil])
    if (account === undefined) return
    const status = account.status === 'complete' ? 'active' : 'pending'
    await createWallets(tx, context, { id, environment, status }, wallets)
  })
}

const leaseWallets = statement(
  'account_lease_wallets',
  `with due as (
     select id from {{schema}}.account
      where wallets_at <= $1 and status <> 'rejected'
      order by wallets_at
      limit $3
        for update skip locked
   )
   update {{schema}}.account a set wallets_at = $2
     from due
    where a.id = due.id
   returning a.id, a.environment`,
  rowDecoder('account', { id: Column.text, environment: Column.word<Environment>() }),
)

const endWallets = statement(
  'account_end_wallets',
  `update {{schema}}.account set wallets_at = null where id = $1 and wallets_at = $2 returning status`,
  rowDecoder('account', { status: Column.text }),
)
