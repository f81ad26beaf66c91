import { Id, OutlayError } from '@outlay/core'
import { z } from 'zod'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { consentsTo, type WireConsent } from '../rail-facts/arrival-marks.ts'
import { amountOf, readFact, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import { foreignDetails } from '../rails/foreign-value.ts'
import type { AutomationRow } from './automations.ts'
import { claimedReference, isOfOtherStoredDay, storedDayOf } from './deposit-day.ts'
import { claimDeposit, claimWire, findDeposit, lockOwner, refusalOf } from './deposits.ts'
import { type DepositMoney, type DepositTransfer, prepareAcceptedTransfer, writeDepositTransfer } from './transfers.ts'

/** What the stored fact of money at a virtual account says beside the amount. That of a deposit at a wallet has an address. */
const said = z.object({ account: z.object({ index: z.string() }), details: foreignDetails.catch({}) })

/** True for the fact of money at a virtual account. */
export const isAutomationDeposit = ({ kind, payload }: StoredRailFact): boolean =>
  kind === 'deposit' && said.safeParse(payload).success

/**
 * Credits a deposit that is held, in the transaction of the person who decides. Takes effect only where no deposit of its rail and reference has:
 * the first one was interrupted before it did. One of another day than the first with its reference is credited in addition, once for each day. What is reported with the reference from then on is a repeat of this one, or an exception.
 *
 * @returns whose wire it is, where that is another transfer, and the person does not consent to that; nothing may be written then.
 * @throws OutlayError `conflict` when one has, and when the deposit would be returned to its sender.
 */
export async function creditHeldDeposit(
  tx: Tx,
  context: ServiceContext,
  fact: StoredRailFact,
  consent: WireConsent,
): Promise<{ readonly reason: 'reused_mark'; readonly markOwner: string } | undefined> {
  const { account, details } = said.parse(fact.payload)
  const money = moneyOf(fact, details)
  const automation = await lockOwner(tx, context, account.index)
  const transferId = Id.generate(context.clock, context.random)
  const transfer = await prepare(tx, context, automation, money, transferId)
  const [earlier] = await run(tx, context, selectOwner, [fact.rail, fact.reference])
  const claimed = { ...money, reference: await referenceOf(tx, context, fact, earlier) }
  if ((await claimDeposit(tx, context, automation, claimed, transferId)) === undefined) {
    throw refused('an earlier deposit with its reference was credited or returned')
  }
  const reused = await claimWire(tx, context, money, { factId: fact.id, transferId, isAccepted: true })
  // The person has accepted that an earlier deposit has its reference.
  const first = await findDeposit(tx, context, { ...money, reference: earlier?.reference ?? money.reference })
  const other = reused.find((one) => one.owner !== (first?.transfer_id ?? first?.id) && !consentsTo(one, consent))
  if (other !== undefined) return { reason: 'reused_mark', markOwner: other.owner }
  await writeDepositTransfer(tx, context, transfer)
  await run(tx, context, nameTransfer, [fact.id, transferId, transfer.row.account_id])
  return undefined
}

/**
 * The reference under which a deposit takes effect. Of another day than the deposit that has its reference, it has one of its own, also where its amount or
 * its account is another, too. The day is written then, since its reports find what was credited by it.
 */
async function referenceOf(
  tx: Tx,
  context: ServiceContext,
  fact: StoredRailFact,
  owner: StoredRailFact | undefined,
): Promise<string> {
  if (owner === undefined) return claimedReference(fact)
  const day = storedDayOf(fact)
  if (day === undefined || !isOfOtherStoredDay(fact, owner)) return fact.reference
  await run(tx, context, nameDay, [fact.id, day])
  return claimedReference({ ...fact, payload: { ...fact.payload, receivedOn: day } })
}

async function prepare(
  tx: Tx,
  context: ServiceContext,
  automation: AutomationRow | undefined,
  money: DepositMoney,
  transferId: string,
): Promise<DepositTransfer> {
  const reason = refusalOf(automation, money)
  if (automation === undefined || reason !== undefined) throw refused(reason ?? 'unknown_account')
  try {
    return await prepareAcceptedTransfer(tx, context, automation, money, transferId)
  } catch (error) {
    throw OutlayError.is(error) ? refused(error.code) : error
  }
}

function refused(why: string): OutlayError {
  const message = `The deposit cannot be credited: ${why}. Let the bank send the money back, and dismiss it.`
  return new OutlayError('conflict', message, { field: 'action' })
}

function moneyOf(fact: StoredRailFact, details: DepositMoney['details']): DepositMoney {
  const { rail, reference } = fact
  const amount = amountOf(fact)
  if (amount === undefined || (rail !== 'wire' && rail !== 'ach_credit'))
    throw new Error('The stored deposit has no money.')
  return { reference, transferType: rail, amount, details }
}

const selectOwner = statement(
  'rail_fact_select_deposit',
  `select ${listOf(readFact)} from {{schema}}.rail_fact
    where rail = $1 and lower(reference) = lower($2) and kind = 'deposit' and exception_reason is null`,
  readFact,
)

const nameDay = statement(
  'rail_fact_name_day',
  `update {{schema}}.rail_fact set payload = payload || jsonb_build_object('receivedOn', $2::text) where id = $1`,
)

const nameTransfer = statement(
  'rail_fact_name_transfer',
  'update {{schema}}.rail_fact set transfer_id = $2, account_id = $3 where id = $1',
)
