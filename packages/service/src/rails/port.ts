import type { Amount, PaymentDetails, TransferFailure, WireInstructions } from '@outlay/core'
import type { PoolClient } from 'pg'

/** How a transfer changes value: the four flows of the specification's "What the service does". */
export type RailFlow = 'onramp' | 'offramp' | 'swap' | 'payout'

/** A bank account at the end of a leg, in clear. Never log it, never store it elsewhere. */
export interface RailBankAccount {
  readonly owner: string
  readonly accountNumber: string
  /** Nine digits. */
  readonly routingNumber: string
  readonly accountType: string
}

/** One end of a payment, resolved from its address. */
export interface RailLeg {
  /** Absent for an inbound wire. */
  readonly addressId?: string | undefined
  readonly valueType: string
  /** Rail or chain, canonical spelling. */
  readonly transferType: string
  /** True for a wallet that the service holds. */
  readonly custodial: boolean
  /** On-chain address or Canton party; empty for a bank account. */
  readonly address: string
  readonly bank?: RailBankAccount | undefined
}

/** What a rail is asked to do for one transfer. */
export interface RailInstruction {
  /** ULID of the transfer; the rail's idempotency key. */
  readonly transferId: string
  readonly accountId: string
  readonly flow: RailFlow
  readonly amount: Amount
  readonly source: RailLeg
  readonly destination: RailLeg
  /** Memo for the receiving bank, at most 140 characters. */
  readonly wireMemo?: string | undefined
  /** The account that the transfer is branded with; ACH only. */
  readonly brandAccountId?: string | undefined
  /** Whom the other bank names on its statement: the business name of the brand, without one that of the account itself. */
  readonly statementName: string
  /** The deposit at a virtual account that pays for it: its money is here already, only the mint is left. */
  readonly deposit?: { readonly reference: string } | undefined
}

/** What a rail answers to one submission. */
export type RailAnswer =
  /**
   * The rail has it. `reference` is the payment reference on that rail: a chain hash, an IMAD, a trace number.
   * `expected` means that the rail waits for money from outside, as for an inbound wire.
   */
  | { readonly outcome: 'accepted' | 'expected'; readonly reference: string }
  /** The rail refuses it for good; nothing moved. */
  | { readonly outcome: 'rejected'; readonly code: string; readonly detail: string }
  /** Nothing moved; the same transfer may be submitted again after the pause. */
  | { readonly outcome: 'throttled'; readonly detail: string; readonly retryAfterMs?: number | undefined }
  /** It may or may not have moved; the same transfer is submitted again. */
  | { readonly outcome: 'unknown'; readonly detail: string }

/** What a rail has learnt about one leg, in addition to what is known. */
export interface RailLegDetails {
  readonly transactionId?: string | undefined
  readonly paymentDetails?: PaymentDetails | undefined
}

/** One fact about one payment. Facts of a payment come in order, each at least once. */
export interface RailFact {
  /** `accepted`: in progress; `settled`: final; `rejected` and `returned`: failed, with `failure`. */
  readonly kind: 'accepted' | 'settled' | 'rejected' | 'returned'
  readonly reference: string
  readonly transferId: string
  readonly accountId: string
  readonly failure: TransferFailure | null
  /**
   * When this became so, ISO 8601. Required for `accepted` after a failure that was retriable, and later than its
   * `occurredAt`: a rail that retries by itself says so with it. Elsewhere it may be left out.
   */
  readonly reachedAt?: string | undefined
  readonly source?: RailLegDetails | undefined
  readonly destination?: RailLegDetails | undefined
}

/** A payment as the rail sees it now. */
export type RailPayment = Pick<RailFact, 'reference' | 'failure' | 'reachedAt'> & {
  readonly state: RailFact['kind'] | 'expected'
}

/** Why a rail will not take an instruction: the code becomes that of the refused create. */
export interface RailRefusal {
  readonly code: 'invalid_account_number' | 'invalid_routing_number' | 'invalid_address' | 'rejected_by_service'
  /** Member of the request, wire spelling, for example `destination.address_id`. */
  readonly field: string
  readonly detail: string
}

/**
 * Takes a batch of facts and answers with the references that it has taken; the rail tells it the others again later.
 * A rejection means that none was taken.
 */
export type RailFactListener = (facts: readonly RailFact[]) => Promise<ReadonlySet<string>>

/** A bank account to open for the deposits of one automation. */
export interface VirtualAccountOrder {
  /** ULID of the automation; the rail's idempotency key. */
  readonly automationId: string
  readonly accountId: string
  /** Whose account it is to those who send money. */
  readonly beneficiary: { readonly name: string; readonly address: string }
}

/** A virtual account is open: money may come. */
export interface VirtualAccountFact {
  readonly automationId: string
  /** Where the money is sent. The account number is unique at its bank, and stays the automation's for ever. */
  readonly instructions: Omit<WireInstructions, 'beneficiaryName' | 'beneficiaryAddress'>
}

/** Money that has arrived at a virtual account. */
export interface DepositFact {
  /** The bank's, unique for ever on its rail: the IMAD of a wire, the trace number of an ACH entry. */
  readonly reference: string
  readonly transferType: 'wire' | 'ach_credit'
  /** Nine digits. */
  readonly routingNumber: string
  readonly accountNumber: string
  /** More than zero. */
  readonly amount: Amount
  readonly details: PaymentDetails
}

/** What became of a deposit. The rail sends back what is `returned`; the same deposit gets the same verdict for ever. */
export type DepositVerdict =
  | { readonly outcome: 'credited'; readonly transferId: string }
  | { readonly outcome: 'returned'; readonly reason: string }

/** Takes what a bank says about virtual accounts. A rejection means that the fact was not taken: tell it again later. */
export interface VirtualAccountListener {
  opened(fact: VirtualAccountFact): Promise<void>
  /** Once in effect per rail and reference, however often and from however many processes it is told. */
  deposited(fact: DepositFact): Promise<DepositVerdict>
}

/** A bank that opens virtual accounts. */
export interface VirtualAccountBank {
  /** Asks for an account, once in effect per automation; `opened` tells when it is there. */
  open(order: VirtualAccountOrder, options: { readonly signal: AbortSignal }): Promise<void>
}

/**
 * The ways that money leaves and reaches the service: banks and chains. A deployer implements this for real ones.
 *
 * Every member may be called from several processes at once.
 */
export interface Rails {
  /** Checks an instruction before the transfer is created; `undefined` when nothing speaks against it. No effect. */
  validate(instruction: RailInstruction): Promise<RailRefusal | undefined>
  /**
   * Where the client sends an inbound wire for this transfer; called once, while the transfer is created. `tx` is the
   * transaction of the create: a rail that keeps its state in the same database may write in it. Of the service's own
   * tables it sees and writes the client's rows only.
   */
  wireInstructions(
    instruction: RailInstruction,
    tx: PoolClient,
    beneficiary: { readonly name: string; readonly address: string },
  ): Promise<WireInstructions>
  /**
   * How long the rail remembers a `transferId` for certain, in milliseconds: one whose outcome is unknown for longer is not
   * handed to it again. Default: for ever.
   */
  readonly keyLifetimeMs?: number | undefined
  /**
   * Hands one payment to its rail, once in effect per `transferId`: a repeat answers with the same reference. A refusal means
   * that the rail has no payment of that transfer, whatever became of earlier answers.
   */
  submit(instruction: RailInstruction, options: { readonly signal: AbortSignal }): Promise<RailAnswer>
  /** Reads one payment; `undefined` when the rail does not know it. */
  get(reference: string, options: { readonly signal: AbortSignal }): Promise<RailPayment | undefined>
  /** Opens the virtual accounts of automations; without it there are no automations. */
  readonly virtualAccounts?: VirtualAccountBank | undefined
  /** Begins to tell facts to the listeners. Called once, before the first submission of this process. */
  start(listener: RailFactListener, virtualAccounts: VirtualAccountListener): Promise<void>
  /** Stops telling facts, after the batch in hand, and releases what the rail holds. Safe to call twice. */
  stop(): Promise<void>
}
