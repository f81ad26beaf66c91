import { setTimeout as pause } from 'node:timers/promises'
import { type AccountStatus, accountStatuses } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { createWallets, type ProvisionedWallet, provisionWallets } from '../addresses/wallets.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { listOf, type Row, run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import type { Environment } from '../schema/caller.ts'
import { callWithin } from '../time-limit.ts'
import { setAccountStatus, submissionColumns, submissionOf } from './accounts.ts'
import type { AccountReviewer } from './reviewer.ts'

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
 * Starts the worker that asks for what new accounts lack, in this process: the custodian for their wallets, the reviewer for a decision.
 * Several processes share the work, and a question whose answer is lost is repeated.
 */
export function startOnboarding(
  context: ServiceContext,
  options: { readonly pollIntervalMs?: number | undefined } = {},
): Onboarding {
  const ending = new AbortController()
  const { signal } = ending
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      await onboardDue(context, signal).catch((error: Error) => {
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
export async function onboardDue(
  context: ServiceContext,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  // At the same time: a reviewer that takes long must not delay wallets.
  const { reviewer } = context
  const tasks = [
    context.custody === undefined ? undefined : provideWallets(context),
    reviewer === undefined ? undefined : reviewAccounts(context, reviewer, signal),
  ]
  const results = await Promise.allSettled(tasks)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Asks the reviewer outside any transaction. Its errors can quote what was submitted, so only the name of the error is logged. */
async function reviewAccounts(context: ServiceContext, reviewer: AccountReviewer, stop: AbortSignal): Promise<void> {
  const { reviewTimeoutMs = 30_000 } = context
  const now = context.clock.now()
  const leasedUntil = new Date(now.getTime() + reviewTimeoutMs + retryMs)
  const due = await run(asSystem(context), context, leaseReviews, [now, leasedUntil, batchSize])
  await Promise.all(
    due.map(async ({ id, row }) => {
      try {
        const submission = submissionOf(context, row)
        const verdict = await callWithin(reviewTimeoutMs, ({ signal }) =>
          untilAborted(AbortSignal.any([signal, stop]), (given) => reviewer.review(submission, { signal: given })),
        )
        await applyVerdict(context, id, verdict, leasedUntil)
      } catch (error) {
        const name = error instanceof Error ? error.name : typeof error
        context.logger.warn({ accountId: id, error: name }, 'An account could not be reviewed; the worker asks again.')
      }
    }),
  )
}

/** Leaves a call as soon as its signal fires, even if it ignores the signal: a stop does not wait for a reviewer. */
async function untilAborted<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => aborted.reject(signal.reason), { once: true })
  return await Promise.race([call(signal), aborted.promise])
}

/** Applies a verdict once, for the lease that asked for it. It comes too late when somebody else has decided. */
async function applyVerdict(
  context: ServiceContext,
  accountId: string,
  verdict: AccountStatus,
  leasedUntil: Date,
): Promise<void> {
  if (!accountStatuses.includes(verdict))
    throw new TypeError('The reviewer answered with something else than a status.')
  await inTransaction(context, async (tx) => {
    const [asked] = await run(tx, context, endReview, [accountId, leasedUntil])
    if (asked !== undefined) await setAccountStatus(tx, context, accountId, verdict)
  })
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

const readId = rowDecoder('account', { id: Column.text })

const leaseReviews = statement(
  'account_lease_reviews',
  `with due as (
     select id from {{schema}}.account
      where review_at <= $1 and status = 'pending'
      order by review_at
      limit $3
        for update skip locked
   )
   update {{schema}}.account a set review_at = $2
     from due
    where a.id = due.id
   returning ${listOf({ columns: submissionColumns }, 'a')}`,
  (row: Row) => ({ ...readId(row), row }),
)

const endReview = statement(
  'account_end_review',
  `update {{schema}}.account set review_at = null
    where id = $1 and review_at = $2 and status = 'pending'
   returning id`,
  readId,
)
