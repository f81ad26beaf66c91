import { setTimeout as pause } from 'node:timers/promises'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { type DueWork, workOff } from '../accounts/due-work.ts'
import { inWorkerTransaction, type ServiceContext, type Tx } from '../context.ts'
import { afterConflicts, sqlStateOf } from '../database/conflict.ts'
import { isAboutContent } from '../database/passing-error.ts'
import { listOf, type Row, run, statement } from '../database/statement.ts'
import { asSystem, asWorker } from '../database/tenant.ts'
import type { RailExceptionReason } from '../rail-facts/fact-kind.ts'
import { finishFacts, isFinished, type NewRailFact, recordFact } from '../rail-facts/rail-facts.ts'
import { reportExceptions } from '../rail-facts/reporting.ts'
import { refuseUnreadable } from '../rail-facts/unreadable-report.ts'
import type { VirtualAccountBank, VirtualAccountFact } from '../rails/port.ts'
import { callWithin, untilAborted } from '../time-limit.ts'
import { recordEvent } from '../webhooks/events.ts'
import {
  type AutomationRow,
  automationView,
  readAutomation,
  virtualAccountIndex,
  virtualAccountPlace,
} from './automations.ts'
import { readOpenedFact } from './bank-fact.ts'

/** The running worker that opens virtual accounts. */
export interface AutomationOpening {
  /** Stops ordering and waits for orders in progress. Safe to call twice. */
  stop(): Promise<void>
}

/** Delay before a refused or failed order is retried. */
const retryMs = 10_000

/** Time limit for a bank to accept an order, in milliseconds. The worker repeats the order later. */
const orderMs = 30_000

/** For how long an order is its process's, in milliseconds: longer than the bank may take. */
const leaseMs = orderMs + retryMs

/** Maximum number of orders under way. */
const places = 50

/** How many of them may be those of one client. */
const placesPerClient = 10

/** Automations that wait longest, of which those that are next are leased. */
const frontSize = 500

/** Of one client under way and in the front. Further ones are put off, or they would hide those of other clients behind them. */
const mostOfClient = 50

/** For how long they are put off, in milliseconds: until the bank has most of what the client has left. */
const putOffMs = 500

/**
 * Starts the worker that orders virtual accounts for new automations in this process: pending becomes processing, then the bank
 * gets the order. An order that hangs delays no other account. Several processes share the work, and an order is repeated after a crash: a
 * repeated order opens one account.
 */
export function startAutomationOpening(
  context: ServiceContext,
  options: { readonly pollIntervalMs?: number | undefined } = {},
): AutomationOpening {
  const bank = context.rails.virtualAccounts
  const ending = new AbortController()
  const { signal } = ending
  const { pollIntervalMs = 250 } = options
  const work = async (): Promise<void> => {
    while (bank !== undefined && !signal.aborted) {
      await workOff(openingWork(context, bank, signal), { places, pollIntervalMs, signal }).catch((error: Error) =>
        report(context, error),
      )
      await pause(pollIntervalMs, undefined, { signal }).catch(() => undefined)
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

/** Orders outside of any transaction. */
function openingWork(context: ServiceContext, bank: VirtualAccountBank, stop: AbortSignal): DueWork<DueAutomation> {
  return {
    async lease(limit, busy) {
      const now = context.clock.now().getTime()
      const [leasedUntil, later] = [new Date(now + leaseMs), new Date(now + putOffMs)]
      return await run(asSystem(context), context, leaseDue, [new Date(now), leasedUntil, limit, busy, later])
    },
    async work(row) {
      const asked = await order(context, bank, row, stop)
      // What was interrupted by a stop is another process's at once.
      const againMs = stop.aborted ? 0 : retryMs
      const again = asked ? null : new Date(context.clock.now().getTime() + againMs)
      const set = run(asWorker(context), context, setOpenAt, [row.id, again, row.leasedUntil])
      await set.catch((error: Error) => report(context, error, row.id))
    },
  }
}

/** Orders one account. Resolves with whether the bank has the order. */
async function order(
  context: ServiceContext,
  bank: VirtualAccountBank,
  row: DueAutomation,
  stop: AbortSignal,
): Promise<boolean> {
  const beneficiary = { name: row.beneficiary_name, address: row.beneficiary_address }
  const wanted = { automationId: row.id, accountId: row.account_id, beneficiary }
  try {
    await callWithin(orderMs, ({ signal }) =>
      untilAborted(AbortSignal.any([signal, stop]), (given) => bank.open(wanted, { signal: given })),
    )
    return true
  } catch (error) {
    return stop.aborted ? false : report(context, error, row.id)
  }
}

/** Errors of a bank can quote what was sent, so the log has only their names. */
function report(context: ServiceContext, error: unknown, automationId?: string): false {
  context.logger.warn(
    { automationId, error: error instanceof Error ? error.name : typeof error },
    'A virtual account could not be ordered; the worker retries.',
  )
  return false
}

/**
 * Accepts the fact that a virtual account is open, which is stored first. The automation gets its funding instructions and becomes active,
 * and `automation.active` is recorded with the account number masked. Takes effect once. An automation that was archived in the
 * meantime gets the number, so that its deposits are recognized, and stays archived. Another number for the same automation is an
 * exception, and so are a number that another automation has, what cannot be applied for a reason of its own, and what the port does not
 * describe, of which only a digest is stored. Rejects where the same fact may be applied later: the bank reports it again.
 */
export async function applyOpened(context: ServiceContext, said: VirtualAccountFact): Promise<void> {
  const fact = readOpenedFact(said)
  if (fact === undefined) return await refuseUnreadable(context, said)
  const index = virtualAccountIndex(context, fact.instructions)
  const stored = await recordFact(asSystem(context), context, storable(fact, index))
  if (isFinished(stored)) return
  const apply = () =>
    inWorkerTransaction(context, async (tx) => {
      const problem = await open(tx, context, fact, index)
      await finishFacts(tx, context, [{ id: stored.id, reason: problem }])
      return problem
    })
  const reason = await afterConflicts(apply).catch((error: unknown) => refuse(context, stored.id, error))
  if (reason !== undefined) reportExceptions(context, [{ id: stored.id, kind: 'opened', reason }])
}

/** Finishes a fact whose transaction has failed because of what it says. The error may quote it, so only its name is logged. */
async function refuse(context: ServiceContext, factId: string, error: unknown): Promise<RailExceptionReason> {
  if (!isAboutContent(error)) throw error
  const reason = isNumberTaken(error) ? 'other_virtual_account' : 'apply_failed'
  const name = sqlStateOf(error) ?? (error instanceof Error ? error.name : typeof error)
  context.logger.warn({ factId, error: name }, 'An opened virtual account could not be applied.')
  await finishFacts(asWorker(context), context, [{ id: factId, reason }])
  return reason
}

/** An account number belongs to one automation forever. */
function isNumberTaken(error: unknown): boolean {
  const { constraint } = (error ?? {}) as { readonly constraint?: unknown }
  return sqlStateOf(error) === '23505' && constraint === 'automation_account_number_index_key'
}

function storable({ automationId, instructions }: VirtualAccountFact, index: string): NewRailFact {
  const { accountNumber, ...rest } = instructions
  const payload = { account: { index, last4: accountNumber.slice(-4) }, instructions: rest }
  return { kind: 'opened', reference: automationId, payload }
}

/** Writes the instructions of an automation that has none. Returns why the fact cannot be applied. */
async function open(
  tx: Tx,
  context: ServiceContext,
  { automationId, instructions }: VirtualAccountFact,
  index: string,
): Promise<RailExceptionReason | undefined> {
  const [row] = await run(tx, context, setInstructions, [
    automationId,
    instructions.bankName,
    instructions.bankAddress,
    instructions.routingNumber,
    context.secrets.seal(instructions.accountNumber, virtualAccountPlace(automationId)),
    index,
    instructions.memo,
    context.clock.now(),
  ])
  if (row === undefined) {
    const [automation] = await run(tx, context, selectIndex, [automationId])
    if (automation === undefined) return 'unknown_automation'
    return automation.accountNumberIndex === index ? undefined : 'other_virtual_account'
  }
  if (row.status === 'active') {
    await recordEvent(tx, context, { accountId: row.account_id, type: 'automation.active', data: masked(context, row) })
  }
  return undefined
}

/** An event is stored as it is sent, so it has only the last four digits. The API returns all of them. */
function masked(context: ServiceContext, row: AutomationRow) {
  const resource = automationView(context, row)
  const { funding_instructions: instructions } = resource.source
  if (instructions === null) return resource
  const accountNumber = `****${instructions.account_number.slice(-4)}`
  const shown = { ...instructions, account_number: accountNumber }
  return { ...resource, source: { ...resource.source, funding_instructions: shown } }
}

type DueAutomation = ReturnType<typeof readDueAutomation>

const readLease = rowDecoder('automation', { clientId: Column.text, leasedUntil: Column.date })

function readDueAutomation(row: Row) {
  return { ...readAutomation(row), ...readLease(row) }
}

const leaseDue = statement(
  'automation_lease_due',
  `with front as materialized (
     select a.id, a.open_at,
            coalesce((select min(c.client_id) from {{schema}}.client_account c where c.account_id = a.account_id), '') as client_id
       from {{schema}}.automation a
      where a.open_at <= $1
      order by a.open_at
      limit ${frontSize}
   ), placed as materialized (
     select f.*, row_number() over (partition by f.client_id order by f.open_at, f.id)
                 + (select count(*) from unnest($4::text[]) as busy (client_id) where busy.client_id = f.client_id) as place
       from front f
   ), due as (
     select a.id, p.client_id
       from placed p
       join {{schema}}.automation a on a.id = p.id
      where p.place <= ${placesPerClient} and a.open_at <= $1 and a.status in ('pending', 'processing')
      order by p.place, p.open_at
      limit $3
        for update of a skip locked
   ), excess as (
     select a.id
       from placed p
       join {{schema}}.automation a on a.id = p.id
      where p.place > ${mostOfClient} and a.open_at <= $1
        for update of a skip locked
   ), put_off as (
     update {{schema}}.automation a set open_at = $5 from excess where a.id = excess.id
   )
   update {{schema}}.automation a
      set status = 'processing', open_at = $2,
          updated_at = case when a.status = 'pending' then $1 else a.updated_at end
     from due
    where a.id = due.id
   returning ${listOf(readAutomation, 'a')}, due.client_id, a.open_at as leased_until`,
  readDueAutomation,
)

const setOpenAt = statement(
  'automation_set_open_at',
  'update {{schema}}.automation set open_at = $2 where id = $1 and open_at = $3',
)

const setInstructions = statement(
  'automation_set_instructions',
  `update {{schema}}.automation
      set bank_name = $2, bank_address = $3, routing_number = $4, account_number = $5, account_number_index = $6,
          memo = $7, open_at = null,
          status = case when status = 'archived' then status else 'active' end,
          updated_at = case when status = 'archived' then updated_at else $8 end
    where id = $1 and account_number is null
   returning ${listOf(readAutomation)}`,
  readAutomation,
)

const selectIndex = statement(
  'automation_select_index',
  'select account_number_index from {{schema}}.automation where id = $1',
  rowDecoder('automation', { accountNumberIndex: Column.nullable(Column.text) }),
)
