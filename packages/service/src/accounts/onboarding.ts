import { setTimeout as pause } from 'node:timers/promises'
import { type AccountStatus, accountStatuses } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { provisionWallets } from '../addresses/wallets.ts'
import { inWorkerTransaction, type ServiceContext } from '../context.ts'
import { listOf, type Row, run, type Statement, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import type { Environment } from '../schema/caller.ts'
import { callWithin, untilAborted } from '../time-limit.ts'
import { setAccountStatus, submissionColumns, submissionOf } from './accounts.ts'
import { type DueWork, workOff } from './due-work.ts'
import type { AccountReviewer } from './reviewer.ts'
import { writeWallets } from './wallet-orders.ts'

/** The running worker that completes accounts. */
export interface Onboarding {
  /** Stops asking and waits for what is in progress. Safe to call twice. */
  stop(): Promise<void>
}

/** When somebody who gave no answer is asked again. */
const retryMs = 60_000

/** Maximum number of accounts that are asked about at once, each kind of question apart. */
const places = 20

/** How many of them may belong to one client. */
const placesPerClient = 10

/** How many of those that wait longest are read to find some to lease. */
const frontSize = 500

/** For how long the accounts of a client that has all its places are put behind those of others. */
const putOffMs = 5_000

/**
 * Starts the worker that asks for what new accounts lack, in this process: the custodian for their wallets, the reviewer for a decision.
 * Neither waits for the other. Several processes share the work, and a question whose answer is lost is repeated.
 */
export function startOnboarding(
  context: ServiceContext,
  options: { readonly pollIntervalMs?: number | undefined } = {},
): Onboarding {
  const ending = new AbortController()
  const { signal } = ending
  const { pollIntervalMs = 1_000 } = options
  const repeat = async (task: () => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      await task().catch((error: Error) => {
        context.logger.warn({ error: error.name }, 'New accounts could not be completed; the worker tries again.')
      })
      await pause(pollIntervalMs, undefined, { signal }).catch(() => undefined)
    }
  }
  const working = Promise.all(tasksOf(context, signal, pollIntervalMs).map(repeat))
  return {
    async stop() {
      ending.abort()
      await working
    },
  }
}

/** Asks for everything that is due, until nothing is. */
export async function onboardDue(context: ServiceContext): Promise<void> {
  const { signal } = new AbortController()
  const results = await Promise.allSettled(tasksOf(context, signal, 1_000).map((task) => task()))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** What is asked for, each to be worked off by itself: a reviewer that takes long must not delay wallets. */
function tasksOf(
  context: ServiceContext,
  signal: AbortSignal,
  pollIntervalMs: number,
): readonly (() => Promise<void>)[] {
  const { reviewer, custody } = context
  const options = { places, pollIntervalMs, signal }
  return [
    ...(custody === undefined ? [] : [() => workOff(walletWork(context), options)]),
    ...(reviewer === undefined ? [] : [() => workOff(reviewWork(context, reviewer, signal), options)]),
  ]
}

/** Asks the reviewer outside any transaction. Its errors can quote what was submitted, so only the name of the error is logged. */
function reviewWork(context: ServiceContext, reviewer: AccountReviewer, stop: AbortSignal): DueWork<DueReview> {
  const { reviewTimeoutMs = 30_000 } = context
  return {
    lease: (limit, busy) => lease(context, leaseReviews, reviewTimeoutMs + retryMs, limit, busy),
    async work({ id, row, leasedUntil }) {
      try {
        const submission = submissionOf(context, row)
        const verdict = await callWithin(reviewTimeoutMs, ({ signal }) =>
          untilAborted(AbortSignal.any([signal, stop]), (given) => reviewer.review(submission, { signal: given })),
        )
        await applyVerdict(context, id, verdict, leasedUntil)
      } catch (error) {
        warn(context, id, error, 'An account could not be reviewed; the worker asks again.')
      }
    },
  }
}

function warn({ logger }: ServiceContext, accountId: string, error: unknown, message: string): void {
  logger.warn({ accountId, error: error instanceof Error ? error.name : typeof error }, message)
}

/** Leases accounts that are due, so that no other process asks about them meanwhile. */
async function lease<T extends { readonly leasedUntil: Date }>(
  context: ServiceContext,
  one: Statement<T>,
  forMs: number,
  limit: number,
  busy: readonly string[],
): Promise<readonly T[]> {
  const now = context.clock.now()
  const at = (ms: number) => new Date(now.getTime() + ms)
  return await run(asSystem(context), context, one, [now, at(forMs), limit, busy, at(putOffMs)])
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
  await inWorkerTransaction(context, async (tx) => {
    const [asked] = await run(tx, context, endReview, [accountId, leasedUntil])
    if (asked !== undefined) await setAccountStatus(tx, context, accountId, verdict)
  })
}

function walletWork(context: ServiceContext): DueWork<DueWallets> {
  return {
    lease: (limit, busy) => lease(context, leaseWallets, retryMs, limit, busy),
    async work(order) {
      try {
        const wallets = await provisionWallets(asSystem(context), context, order)
        if (wallets !== undefined) await inWorkerTransaction(context, (tx) => writeWallets(tx, context, order, wallets))
      } catch (error) {
        warn(context, order.id, error, 'The wallets of an account could not be written; the worker asks again.')
      }
    },
  }
}

/**
 * Leases accounts whose `column` is due, longest waiting first, with at most {@link placesPerClient} of one client, those that are under way
 * included. Further ones of such a client are put off a little, or they would hide those of others behind them.
 */
function leaseBy(column: 'wallets_at' | 'review_at', isOpen: string, returned: string): string {
  return `with front as materialized (
     select a.id, a.${column} as due_at,
            coalesce((select min(c.client_id) from {{schema}}.client_account c where c.account_id = a.id), '') as client_id
       from {{schema}}.account a
      where a.${column} <= $1 and ${isOpen}
      order by a.${column}
      limit ${frontSize}
   ), placed as materialized (
     select f.*, row_number() over (partition by f.client_id order by f.due_at, f.id)
                 + (select count(*) from unnest($4::text[]) as busy (client_id) where busy.client_id = f.client_id) as place
       from front f
   ), due as (
     select a.id, p.client_id
       from placed p
       join {{schema}}.account a on a.id = p.id
      where p.place <= ${placesPerClient} and a.${column} <= $1 and ${isOpen}
      order by p.due_at
      limit $3
        for update of a skip locked
   ), excess as (
     select a.id
       from placed p
       join {{schema}}.account a on a.id = p.id
      where p.place > ${placesPerClient} and a.${column} <= $1
        for update of a skip locked
   ), put_off as (
     update {{schema}}.account a set ${column} = $5 from excess where a.id = excess.id
   )
   update {{schema}}.account a set ${column} = $2
     from due
    where a.id = due.id
   returning ${returned}, due.client_id, a.${column} as leased_until`
}

const leasedColumns = { clientId: Column.text, leasedUntil: Column.date }

type DueWallets = ReturnType<typeof readDueWallets>

const readDueWallets = rowDecoder('account', {
  ...leasedColumns,
  id: Column.text,
  environment: Column.word<Environment>(),
})

const leaseWallets = statement(
  'account_lease_wallets',
  leaseBy('wallets_at', `a.status <> 'rejected'`, 'a.id, a.environment'),
  readDueWallets,
)

const readId = rowDecoder('account', { id: Column.text })
const readDueReview = rowDecoder('account', { ...leasedColumns, id: Column.text })

type DueReview = ReturnType<typeof readDueReview> & { readonly row: Row }

const leaseReviews = statement(
  'account_lease_reviews',
  leaseBy('review_at', `a.status = 'pending'`, listOf({ columns: submissionColumns }, 'a')),
  (row: Row): DueReview => ({ ...readDueReview(row), row }),
)

const endReview = statement(
  'account_end_review',
  `update {{schema}}.account set review_at = null
    where id = $1 and review_at = $2 and status = 'pending'
   returning id`,
  readId,
)
