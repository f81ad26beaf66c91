import { Id, OutlayError } from '@outlay/core'
import { z } from 'zod'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { amountOf, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import { foreignDetails } from '../rails/foreign-value.ts'
import type { AutomationRow } from './automations.ts'
import { claimDeposit, lockOwner, refusalOf } from './deposits.ts'
import { type DepositMoney, type DepositTransfer, prepareAcceptedTransfer, writeDepositTransfer } from './transfers.ts'

/** What the stored fact of money at a virtual account says beside the amount. That of a deposit at a wallet has an address. */
const said = z.object({ account: z.object({ index: z.string() }), details: foreignDetails.catch({}) })

/** True for the fact of money at a virtual account. */
export const isAutomationDeposit = ({ kind, payload }: StoredRailFact): boolean =>
  kind === 'deposit' && said.safeParse(payload).success

/**
 * Credits a deposit that is held, in the transaction of the person who decides. Takes effect only where no deposit of its rail and reference has:
 * the first one was interrupted before it did. What is reported with the reference from then on is a repeat of this one, or an exception.
 * @throws OutlayError `conflict` when one has, and when the deposit would be returned to its sender.
 */
export async function creditHeldDeposit(tx: Tx, context: ServiceContext, fact: StoredRailFact): Promise<void> {
  const { account, details } = said.parse(fact.payload)
  const money = moneyOf(fact, details)
  const automation = await lockOwner(tx, context, account.index)
  const transferId = Id.generate(context.clock, context.random)
  const transfer = await prepare(tx, context, automation, money, transferId)
  if ((await claimDeposit(tx, context, automation, money, transferId)) === undefined) {
    throw refused('an earlier deposit with its reference was credited or returned')
  }
  await writeDepositTransfer(tx, context, transfer)
  await run(tx, context, nameTransfer, [fact.id, transferId, transfer.row.account_id])
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

const nameTransfer = statement(
  'rail_fact_name_transfer',
  'update {{schema}}.rail_fact set transfer_id = $2, account_id = $3 where id = $1',
)
