import type fc from 'fast-check'
import type { SeededClient } from '../src/sandbox/sandbox.ts'
import type { ClientCall } from './client-caller.ts'
import { sampleClabe } from './quotes.ts'

/** The simulated rails leave a transfer of this amount alone, in cents, until a person ends it. */
export const stalls = 666_004

/** A wire of this amount is refused by the other bank, in cents. */
export const refused = 666_001

/** A wallet of one of two accounts, for one of two tokens: `0 USDC`. */
export type Holding = `${0 | 1} ${'USDC' | 'SBC'}`

/** Every holding of the model. */
export const holdings = ['0 USDC', '0 SBC', '1 USDC', '1 SBC'] as const satisfies readonly Holding[]

/** A transfer of the model. */
export interface TransferModel {
  readonly id: string
  readonly from: Holding | undefined
  readonly to: Holding | undefined
  readonly cents: number
  /** What arrives, in centavos, of a payout with a quote. */
  readonly centavos?: number | undefined
  /** How it ends when time passes: never, successfully, or with a failure. */
  readonly fate: 'stall' | 'settle' | 'fail'
  status: 'open' | 'waiting' | 'complete' | 'failed'
  returned: boolean
}

/** What two accounts should have. */
export interface Model {
  /** What the desk has given in centavos, for payouts that are complete and did not come back. */
  pesos: number
  readonly available: Record<Holding, number>
  readonly held: Record<Holding, number>
  readonly transfers: TransferModel[]
}

/** An account of the service, with the addresses that it pays to. */
export interface Account {
  readonly accountId: string
  readonly walletId: string
  /** The wallet of the other account as this one knows it. */
  readonly otherId: string
  readonly bankId: string
  /** The bank account for pesos. */
  readonly clabeId: string
}

/** Two accounts of the service, and the calls of their client. */
export interface Real {
  readonly accounts: readonly [Account, Account]
  readonly call: ClientCall
  /** Sends through the gate. */
  readonly create: ClientCall
  readonly scheduler: fc.Scheduler
}

/** A transfer that is about to be created. */
export interface Plan {
  readonly kind: 'payout' | 'swap' | 'offramp' | 'onramp'
  readonly at: 0 | 1
  readonly token: 'USDC' | 'SBC'
  readonly cents: number
}

/** What the model makes of a plan: where its money comes from and where it goes. */
export function planned({ kind, at, token, cents }: Plan): Omit<TransferModel, 'id' | 'status' | 'returned'> {
  const own: Holding = `${at} ${token}`
  const fate = cents === stalls ? 'stall' : cents === refused ? 'fail' : 'settle'
  if (kind === 'payout') return { from: own, to: `${at === 0 ? 1 : 0} ${token}`, cents: stalls, fate: 'stall' }
  if (kind === 'swap')
    return { from: own, to: `${at} ${token === 'USDC' ? 'SBC' : 'USDC'}`, cents: stalls, fate: 'stall' }
  if (kind === 'onramp') return { from: undefined, to: own, cents, fate: 'settle' }
  return { from: own, to: undefined, cents, fate }
}

/** The body that creates the transfer of a plan. */
export function bodyOf({ kind, at, token }: Plan, cents: number, real: Real): unknown {
  const { walletId, otherId, bankId } = real.accounts[at]
  const onBase = { value_type: token, transfer_type: 'base' }
  const wire = { value_type: 'USD', transfer_type: 'wire' }
  const wallet = { address_id: walletId, ...onBase }
  const swapped = { ...wallet, value_type: token === 'USDC' ? 'SBC' : 'USDC' }
  const ends = {
    payout: { source: wallet, destination: { address_id: otherId, ...onBase } },
    swap: { source: wallet, destination: swapped },
    offramp: { source: wallet, destination: { address_id: bankId, ...wire } },
    onramp: { source: wire, destination: wallet },
  }[kind]
  const currency = kind === 'payout' || kind === 'swap' ? token : 'USD'
  return { amount: { value: (cents / 100).toFixed(2), currency }, ...ends }
}

/** Ends a transfer of the model. */
export function end(model: Model, transfer: TransferModel, status: 'complete' | 'failed'): void {
  const { from, to, cents } = transfer
  transfer.status = status
  if (from !== undefined) model.held[from] -= cents
  if (status === 'complete') model.pesos += transfer.centavos ?? 0
  const payee = status === 'complete' ? to : from
  if (payee !== undefined) model.available[payee] += cents
}

const postal = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }

/** Registers what a seeded account pays to: the other account, a bank account for dollars and one for pesos. */
export async function furnishAccount(call: ClientCall, made: SeededClient['accounts'], at: 0 | 1): Promise<Account> {
  const accountId = made[at]?.accountId ?? ''
  const register = async (body: unknown) =>
    String((await call(`/accounts/${accountId}/addresses/external`, body)).json['id'])
  const other = made[1 - at]?.wallets[0]?.address
  const bank = { owner: 'Roe', name: 'Bank', account_number: '445566770077', routing_number: '021000021' }
  return {
    accountId,
    walletId: made[at]?.wallets[0]?.addressId ?? '',
    otherId: await register({ name: 'Other', address: other, transfer_types: ['base'] }),
    bankId: await register({
      ...bank,
      account_type: 'checking',
      bank_address: postal,
      beneficiary_address: postal,
      transfer_types: ['wire'],
    }),
    clabeId: await register(sampleClabe),
  }
}
