import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import type { RailFlow } from '../rails/port.ts'

/**
 * A kind of ledger account.
 *
 * - `custodial`: a wallet's holding of one value type on one chain; the only kind that belongs to a client
 * - `issuer`: the issuer that mints and burns a token, one per value type
 * - `settlement`: the service's own money at a rail, in transit
 * - `outside`: external accounts at a rail or a chain
 * - `receivable`: what an account owes, as an amount below zero
 * - `exchange`: the desk that gives the rates of quotes, one per value type; it takes one and gives another
 */
export type LedgerAccountKind = 'custodial' | 'issuer' | 'settlement' | 'outside' | 'receivable' | 'exchange'

/** One step of a posting. `hold` ends in `post` or `void`; `reverse` undoes a `post`. */
export type LedgerStep = 'hold' | 'post' | 'void' | 'deposit' | 'reverse'

/** One signed line of a step, in the format of the SQL function that books it. */
export interface LedgerLine {
  readonly kind: LedgerAccountKind
  readonly account: string
  readonly address: string
  readonly value: string
  readonly rail: string
  readonly bucket: 'available' | 'held'
  /** Decimal string, negative for a debit. */
  readonly amount: string
}

/** One end of a movement in the ledger. */
export interface LedgerLeg {
  readonly valueType: string
  readonly transferType: string
  /** The wallet, when the service holds it. */
  readonly custodial?: { readonly accountId: string; readonly addressId: string } | undefined
}

/** The lines of every step of one transfer. */
export type LedgerPlan = Readonly<Record<'hold' | 'post' | 'void', readonly LedgerLine[]>>

/**
 * Plans the lines of a transfer. Value that the service holds is held at the source first; a change of value type burns
 * one token and mints the other; money of a bank rail passes through the settlement account of that rail.
 *
 * Every step sums to zero per value type.
 */
export function planTransfer(transfer: {
  readonly flow: RailFlow
  readonly amount: string
  readonly source: LedgerLeg
  readonly destination: LedgerLeg
}): LedgerPlan {
  const { flow, amount, source, destination } = transfer
  const minus = `-${amount}`
  const held = walletLine(source, 'held', minus)
  const post = [held ?? systemLine('outside', source, minus)]
  if (flow === 'onramp') {
    post.push(systemLine('settlement', source, amount), issuerLine(destination, minus))
  } else if (flow === 'offramp') {
    post.push(issuerLine(source, amount), systemLine('settlement', destination, minus))
  } else if (source.valueType !== destination.valueType) {
    post.push(issuerLine(source, amount), issuerLine(destination, minus))
  }
  post.push(walletLine(destination, 'available', amount) ?? systemLine('outside', destination, amount))
  if (held === undefined) return { hold: [], post, void: [] }
  return {
    hold: [
      { ...held, bucket: 'available' },
      { ...held, amount },
    ],
    post,
    void: [held, { ...held, bucket: 'available', amount }],
  }
}

/** Plans a deposit: value moves from outside into a wallet, on the same chain. */
export function planDeposit(wallet: LedgerLeg, amount: string): readonly LedgerLine[] {
  const credit = walletLine(wallet, 'available', amount)
  if (credit === undefined) throw new Error('A deposit goes to a wallet that the service holds.')
  return [systemLine('outside', wallet, `-${amount}`), credit]
}

/** Plans the receipt of money that arrived at a rail and is credited to nobody yet: it is in the rail's settlement account. */
export function planReceipt(leg: LedgerLeg, amount: string): readonly LedgerLine[] {
  return [systemLine('outside', leg, `-${amount}`), systemLine('settlement', leg, amount)]
}

/** Plans a move of value from one wallet to another one on the same chain. */
export function planMove(from: LedgerLeg, to: LedgerLeg, amount: string): readonly LedgerLine[] {
  const debit = walletLine(from, 'available', `-${amount}`)
  const credit = walletLine(to, 'available', amount)
  if (debit === undefined || credit === undefined)
    throw new Error('Value moves between wallets that the service holds.')
  return [debit, credit]
}

/** The same lines with another amount. */
export function withAmount(lines: readonly LedgerLine[], amount: string): readonly LedgerLine[] {
  return lines.map((line) => ({ ...line, amount: line.amount.startsWith('-') ? `-${amount}` : amount }))
}

/** Plans the reversal of a posting. The value of the wallet becomes available again. */
export function planReverse(post: readonly LedgerLine[]): readonly LedgerLine[] {
  return post.map((line) => ({
    ...line,
    bucket: 'available',
    amount: line.amount.startsWith('-') ? line.amount.slice(1) : `-${line.amount}`,
  }))
}

/** A transfer of which money comes back. */
export interface ReturnedTransfer {
  readonly accountId: string
  readonly flow: RailFlow
  readonly destinationAddressId: string
  readonly post: readonly LedgerLine[]
  /** The leg of the dollars that a deposit brought, where they were booked apart from the end. */
  readonly receipt?: LedgerLeg | undefined
}

/**
 * Plans what comes back of a complete transfer: the reversal of its end with this amount. What is in a wallet of somebody else, or what was
 * minted to one outside, does not come back, so the account of the transfer owes it.
 */
export function planReturn(transfer: ReturnedTransfer, amount: string): readonly LedgerLine[] {
  const { flow, post, receipt } = transfer
  const dollars = receipt === undefined ? [] : planReceipt(receipt, amount)
  const lines = withAmount(planReverse([...dollars, ...post]), amount)
  return flow === 'onramp' || lines.at(-1)?.kind === 'custodial' ? owedUnlessOwn(transfer, lines) : lines
}

/** The same lines, the last of which its account owes unless it is one of its own wallets. */
export function owedUnlessOwn(
  { accountId: account, destinationAddressId: address }: Pick<ReturnedTransfer, 'accountId' | 'destinationAddressId'>,
  lines: readonly LedgerLine[],
): readonly LedgerLine[] {
  const last = lines.at(-1)
  if (last === undefined || (last.kind === 'custodial' && last.account === account)) return lines
  return [...lines.slice(0, -1), { ...last, kind: 'receivable', account, address }]
}

/** The line of a wallet; `undefined` for a leg that is not one of the service. */
export function walletLine(leg: LedgerLeg, bucket: LedgerLine['bucket'], amount: string): LedgerLine | undefined {
  if (leg.custodial === undefined) return undefined
  const { accountId, addressId } = leg.custodial
  return {
    kind: 'custodial',
    account: accountId,
    address: addressId,
    value: leg.valueType,
    rail: leg.transferType,
    bucket,
    amount,
  }
}

/** The line of an account of the service itself, on the rail of a leg. */
export function systemLine(kind: 'settlement' | 'outside', leg: LedgerLeg, amount: string): LedgerLine {
  return {
    kind,
    account: '',
    address: '',
    value: leg.valueType,
    rail: leg.transferType,
    bucket: 'available',
    amount,
  }
}

function issuerLine(leg: LedgerLeg, amount: string): LedgerLine {
  return { kind: 'issuer', account: '', address: '', value: leg.valueType, rail: '', bucket: 'available', amount }
}

/** The result of booking a step. When it is `repeated`, nothing changed. */
export type LedgerAnswer = 'applied' | 'repeated'

/** Books one step of a posting that is not a hold. Takes effect once per posting and step. */
export async function book(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  postingId: string,
  step: Exclude<LedgerStep, 'hold'>,
  lines: readonly LedgerLine[],
): Promise<LedgerAnswer> {
  const [row] = await run(tx, context, applyStep, [postingId, step, JSON.stringify(lines)])
  if (row === undefined) throw new Error('The ledger gave no answer.')
  return row.answer
}

/** One step to be booked. */
export interface PostedStep {
  readonly posting: string
  readonly step: Exclude<LedgerStep, 'hold'>
  readonly lines: readonly LedgerLine[]
}

/** Books steps as {@link book} does, in one statement for all. */
export async function bookMany(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  steps: readonly PostedStep[],
): Promise<void> {
  if (steps.length > 0) await run(tx, context, applySteps, [JSON.stringify(steps)])
}

const readLedgerAnswer = rowDecoder('ledger answer', { answer: Column.word<LedgerAnswer>() })

const applyStep = statement(
  'ledger_apply',
  'select {{schema}}.ledger_apply($1, $2, $3::jsonb) as answer',
  readLedgerAnswer,
)

const applySteps = statement('ledger_apply_many', 'select {{schema}}.ledger_apply_many($1::jsonb)')
