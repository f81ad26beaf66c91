import type {
  Amount,
  PaymentDetails,
  TransferFailure,
  TransferTypeName,
  ValueTypeName,
  WireInstructions,
} from '@outlay/core'

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
  /** Absent for an inbound wire and for a deposit. Every other leg has one. */
  readonly addressId?: string | undefined
  readonly valueType: ValueTypeName
  /** Rail or chain, canonical spelling. */
  readonly transferType: TransferTypeName
  /** True for a wallet that the service holds. */
  readonly custodial: boolean
  /** On-chain address or Canton party; empty for a bank account. */
  readonly address: string
  readonly bank?: RailBankAccount | undefined
}

/** What a rail does for one transfer. */
export interface RailInstruction {
  /** ULID of the transfer; the rail's idempotency key. */
  readonly transferId: string
  readonly accountId: string
  readonly flow: RailFlow
  /**
   * What the rail moves: dollars of a bank in the value type of the bank's leg, also where the transfer was asked for in tokens. With a quote, it is
   * what arrives at the destination, in its value type.
   */
  readonly amount: Amount
  readonly source: RailLeg
  readonly destination: RailLeg
  /** Memo for the receiving bank, at most 140 characters. */
  readonly wireMemo?: string | undefined
  /** The account that the transfer is branded with; ACH only. */
  readonly brandAccountId?: string | undefined
  /** Name on the other bank's statement: the business name of the brand, or of the account without a brand. */
  readonly statementName: string
  /** The deposit at a virtual account that funds it. The money has arrived; only the mint is left. */
  readonly deposit?: { readonly reference: string } | undefined
  /** The desk's side of a transfer between value types that are not worth the same: its reference, and what the source has given. */
  readonly quote?: { readonly reference: string; readonly rate: string; readonly sourceAmount: Amount } | undefined
}

/** A rail's answer to one submission. */
export type RailAnswer =
  /**
   * The rail has it. `reference` is the payment reference on that rail: a chain hash, an IMAD, a trace number.
   * `expected` means that the rail waits for incoming money, such as an inbound wire.
   */
  | { readonly outcome: 'accepted' | 'expected'; readonly reference: string }
  /** The rail refuses it finally. Nothing moved. */
  | { readonly outcome: 'rejected'; readonly code: string; readonly detail: string }
  /** Nothing moved. The engine may submit the same transfer again after the delay. */
  | { readonly outcome: 'throttled'; readonly detail: string; readonly retryAfterMs?: number | undefined }
  /** Money may have moved. The engine submits the same transfer again. */
  | { readonly outcome: 'unknown'; readonly detail: string }

/** New information about one leg. */
export interface RailLegDetails {
  /**
   * The rail's id of this movement of money. A second wire for a transfer, and a second settlement of a payment, are known by another one, and
   * wait for a person.
   */
  readonly transactionId?: string | undefined
  readonly paymentDetails?: PaymentDetails | undefined
}

/**
 * One fact about one payment. A rail reports the facts of a payment in order, each at least once. The service stores it before it
 * applies it; one that contradicts what is known becomes an exception, which a person resolves.
 *
 * Two facts that say the same are one. When equal parts of a payment come back, their facts differ in `returnReference` or in a
 * `transactionId`: otherwise the second part is taken for a repeat of the first, or waits for a person. Neither a time nor what is said in words,
 * such as `failure.detail`, distinguishes a return from another for certain.
 *
 * Ids and references have 1 to 255 characters without control characters, ids no white space at their ends, and times are in the years 1 to 9999. A
 * fact with others is an exception. Null is read as a missing member. Texts for people are cut after 2,000 characters.
 */
export interface RailFact {
  /**
   * `accepted`: in progress; `settled`: final; `rejected` and `returned`: failed, with `failure`; `canceled`: nothing was paid, and
   * nothing will be.
   */
  readonly kind: 'accepted' | 'settled' | 'rejected' | 'returned' | 'canceled'
  readonly reference: string
  readonly transferId: string
  readonly accountId: string
  /**
   * The money that the fact is about, in the currency of the instruction: what has arrived, was sent or came back. It may differ from
   * what the instruction says, as when a sender underpays a wire.
   */
  readonly amount: Amount
  readonly failure: TransferFailure | null
  /**
   * When it happened, ISO 8601. Required for `accepted` after a retriable failure, when the rail retries automatically; it must be
   * later than the `occurredAt` of the failure. Optional otherwise.
   */
  readonly reachedAt?: string | undefined
  readonly source?: RailLegDetails | undefined
  readonly destination?: RailLegDetails | undefined
  /**
   * The rail's own reference of what came back, unique for each return of the payment; of `returned` only. Give it where the rail has one:
   * two reports are the same return exactly when it is the same, whatever else they say.
   */
  readonly returnReference?: string | undefined
}

/**
 * The current state of a payment at the rail. It ends a transfer only as a fact would that says the same:
 *
 * - With `amount`, where that is the whole amount of the instruction.
 * - Without, an end that needs no amount: `rejected`, `canceled`, and `settled` of money that leaves, which means the whole of it. Money
 *   that comes in is credited, and a part that came back is released, by a fact or a state with its amount only.
 * - Never while a fact about the transfer is an exception that waits for a person, and never before the arrival of an inbound wire was
 *   reported by a fact. `returned` never of a wire of which another one was reported, since it does not say which of them went back.
 *
 * Until then the transfer stays under way, so report each fact all the same. A person is asked about an end that is not taken since another payment was
 * reported, once.
 */
export type RailPayment = Pick<RailFact, 'reference' | 'failure' | 'reachedAt'> & {
  readonly state: RailFact['kind'] | 'expected'
  /** The money that the state is about, as in a fact of that kind. Give it wherever the rail has it. */
  readonly amount?: Amount | undefined
}

/** Why a rail refuses an instruction. The refused create has the same code. */
export interface RailRefusal {
  readonly code: 'invalid_account_number' | 'invalid_routing_number' | 'invalid_address' | 'rejected_by_service'
  /** Member of the request, wire spelling, for example `destination.address_id`. */
  readonly field: string
  readonly detail: string
}

/**
 * A rail's answer to a cancellation. `canceled`: nothing was paid and nothing will be, and money that still comes goes back to its
 * sender. `refused`: the payment is in progress or has ended, or the rail cannot cancel it.
 */
export interface RailCancellation {
  readonly outcome: 'canceled' | 'refused'
}

/**
 * Accepts a batch of facts and resolves with the references that it has accepted: their facts are stored, and were applied or wait for a
 * person. The rail reports the others again later. A rejection means that none was accepted.
 */
export type RailFactListener = (facts: readonly RailFact[]) => Promise<ReadonlySet<string>>

/** A bank account to open for the deposits of one automation. */
export interface VirtualAccountOrder {
  /** ULID of the automation; the rail's idempotency key. */
  readonly automationId: string
  readonly accountId: string
  /** Name of the account holder for senders. */
  readonly beneficiary: { readonly name: string; readonly address: string }
}

/** A virtual account is open and can receive money. */
export interface VirtualAccountFact {
  readonly automationId: string
  /** Instructions for senders. The account number is unique at its bank and belongs to the automation forever. */
  readonly instructions: Omit<WireInstructions, 'beneficiaryName' | 'beneficiaryAddress'>
}

/** Money that has arrived at a virtual account. */
export interface DepositFact {
  /**
   * The bank's reference, unique on its rail forever: the IMAD of a wire. The trace number of an ACH entry is unique in its file alone, and many
   * originators begin again with each: put the settlement date and the batch before it. A deposit with the reference of an earlier one is that one, unless
   * their `details.receivedAt` are of two days: then it is held, and a person decides.
   */
  readonly reference: string
  readonly transferType: 'wire' | 'ach_credit'
  /** Nine digits. */
  readonly routingNumber: string
  readonly accountNumber: string
  /** More than zero. */
  readonly amount: Amount
  readonly details: PaymentDetails
}

/** The verdict on a deposit. The rail returns the money of a `returned` one. A repeat gets the same verdict. */
export type DepositVerdict =
  | { readonly outcome: 'credited'; readonly transferId: string }
  | { readonly outcome: 'returned'; readonly reason: string }
  /** An earlier deposit with this reference differs from it. Nothing was credited; the rail keeps the money until a person decides. */
  | { readonly outcome: 'held'; readonly reason: string }

/** Accepts a bank's facts about virtual accounts. A rejection means that the fact was not accepted: report it again later. */
export interface VirtualAccountListener {
  opened(fact: VirtualAccountFact): Promise<void>
  /** Takes effect once per rail and reference, however often and from however many processes it is called. */
  deposited(fact: DepositFact): Promise<DepositVerdict>
}

/** A bank that opens virtual accounts. */
export interface VirtualAccountBank {
  /**
   * Orders an account, once per automation. `opened` reports that it is open. It has 30 seconds to take an order, which is repeated later otherwise; 50
   * orders are under way at a time in a process, 10 of one client.
   */
  open(order: VirtualAccountOrder, options: { readonly signal: AbortSignal }): Promise<void>
}

/**
 * The banks and chains through which money leaves and reaches the service. A deployer implements this port for real ones.
 *
 * Every member may be called from several processes at once.
 */
export interface Rails {
  /**
   * Checks an instruction before the transfer is created. Returns `undefined` when it is acceptable. No effect.
   *
   * The service holds no connection meanwhile. When this rejects or takes longer than 10 seconds, the create is answered with 503 and
   * leaves nothing behind. The same applies to `wireInstructions`.
   */
  validate(instruction: RailInstruction, options: { readonly signal: AbortSignal }): Promise<RailRefusal | undefined>
  /**
   * Instructions for the inbound wire of this transfer. Called before the transfer is created, once per `transferId`. The create may
   * still be refused: then nobody sees the instructions, and no submission follows.
   */
  wireInstructions(
    instruction: RailInstruction,
    beneficiary: { readonly name: string; readonly address: string },
    options: { readonly signal: AbortSignal },
  ): Promise<WireInstructions>
  /**
   * How long the rail is guaranteed to remember a `transferId`, in milliseconds. A transfer whose outcome is unknown for longer is
   * not submitted again. Default: forever.
   */
  readonly keyLifetimeMs?: number | undefined
  /**
   * Submits one payment to its rail. It takes effect once per `transferId`; a repeat answers with the same reference. A refusal
   * means that the rail has no payment of that transfer, even if earlier answers were lost.
   */
  submit(instruction: RailInstruction, options: { readonly signal: AbortSignal }): Promise<RailAnswer>
  /** Reads one payment; `undefined` when the rail does not know it. */
  get(reference: string, options: { readonly signal: AbortSignal }): Promise<RailPayment | undefined>
  /**
   * Cancels the payment of a transfer that waits for money or for a review, or has failed and may be tried again. The rail decides between the
   * cancellation and what happens to the payment at the same time: only one of the two takes effect, and each repeat gets the same answer. Called
   * after an `expected` submission, after a retriable failure, and for an inbound wire already after its `wireInstructions`: a later submission then
   * answers `expected`, and `get` reads `canceled`. The service holds no connection meanwhile, and waits at most 10 seconds.
   */
  cancel(transferId: string, options: { readonly signal: AbortSignal }): Promise<RailCancellation>
  /** Opens the virtual accounts of automations. Without it, automations are not available. */
  readonly virtualAccounts?: VirtualAccountBank | undefined
  /**
   * Starts to report facts to the listeners. Called before the first submission of this process, and again after `stop`. The service
   * does not start when it takes longer than ten seconds, or fails.
   */
  start(listener: RailFactListener, virtualAccounts: VirtualAccountListener): Promise<void>
  /**
   * Stops reporting facts after the current batch, and releases the rail's resources. Called after the last submission of this process;
   * facts are still accepted. Safe to call twice. The service waits at most ten seconds for it.
   */
  stop(): Promise<void>
}
