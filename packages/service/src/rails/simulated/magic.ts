import type { RailInstruction } from '../port.ts'

/** Return codes of the ACH network that the simulated rails know. */
export const achReturns: Readonly<Record<string, { readonly reason: string; readonly category: string }>> = {
  R01: { reason: 'Insufficient funds', category: 'funds' },
  R02: { reason: 'Account closed', category: 'account' },
  R03: { reason: 'No account, or the account cannot be located', category: 'account' },
  R04: { reason: 'Account number is not valid', category: 'account' },
  R05: { reason: 'Consumer account debited with a corporate entry', category: 'unauthorized' },
  R07: { reason: 'Authorization revoked by the customer', category: 'unauthorized' },
  R08: { reason: 'Payment stopped', category: 'stopped' },
  R09: { reason: 'Funds not yet collected', category: 'funds' },
  R10: { reason: 'Customer says that the entry is not authorized', category: 'unauthorized' },
  R11: { reason: 'Entry differs from its authorization', category: 'unauthorized' },
  R16: { reason: 'Account frozen', category: 'account' },
  R20: { reason: 'Account does not accept such entries', category: 'account' },
  R29: { reason: 'Company says that the entry is not authorized', category: 'unauthorized' },
}

/** Effect of a magic input on a simulated payment. */
export type Spell =
  /** Refused while the transfer is created: 422 `invalid_account_number`. */
  | { readonly effect: 'refuse' }
  /**
   * Returned with a code of {@link achReturns}; ACH only. With `times`, an ACH debit is returned that many times and then settles;
   * other payments are not affected.
   */
  | { readonly effect: 'return'; readonly code: string; readonly times?: number }
  /** Accepted, then rejected by the other bank or by the chain. */
  | { readonly effect: 'reject'; readonly code: string; readonly detail: string }
  /** The rail accepts the payment, but the answer to the first submission is lost. */
  | { readonly effect: 'lose_first_answer' }
  /** The first submission is throttled for a second. */
  | { readonly effect: 'throttle_once' }
  /** Never becomes final on its own; `/simulations` can end it. */
  | { readonly effect: 'stall' }

/** Effect of a magic input on a simulated quote. */
export type QuoteSpell =
  /** 422 `quote_refused`. */
  | 'refuse'
  /** The quote expires a second later. */
  | 'expire'
  /** The desk never answers: 503 at the time limit. */
  | 'hang'

/** Return codes for which an ACH debit is presented again, because the money may arrive later. */
export const retriableReturns: readonly string[] = ['R01', 'R09']

/** Maximum presentments of one ACH debit: the first, and two more by the rules of the network. */
export const maxPresentments = 3

/**
 * Magic inputs, complete. Of the account numbers, `00nn` returns every presentment with `Rnn`, `01nn` only the first and
 * `02nn` the first two, for the `Rnn` of {@link retriableReturns}: `0101` is an ACH debit that bounces once and settles.
 *
 * An account number is matched by its last four digits, an amount exactly: for a transfer with a quote the one that arrives, and for a
 * quote the one that was asked for. Account numbers go first.
 */
export const magicInputs: {
  readonly accountNumberEndsWith: Readonly<Record<string, Spell>>
  readonly amountIs: Readonly<Record<string, Spell>>
  readonly quotedAmountIs: Readonly<Record<string, QuoteSpell>>
} = {
  accountNumberEndsWith: {
    '0422': { effect: 'refuse' },
    '0500': { effect: 'reject', code: 'beneficiary_bank_rejected', detail: 'The receiving bank refused the payment' },
    ...Object.fromEntries(
      Object.keys(achReturns).map((code) => [`00${code.slice(1)}`, { effect: 'return', code } satisfies Spell]),
    ),
    ...Object.fromEntries(
      retriableReturns.flatMap((code) =>
        [1, 2].map((times) => [`0${times}${code.slice(1)}`, { effect: 'return', code, times } satisfies Spell]),
      ),
    ),
  },
  amountIs: {
    '6660.01': { effect: 'reject', code: 'transaction_reverted', detail: 'The transaction was reverted' },
    '6660.02': { effect: 'lose_first_answer' },
    '6660.03': { effect: 'throttle_once' },
    '6660.04': { effect: 'stall' },
  },
  quotedAmountIs: { '6661.01': 'refuse', '6661.02': 'expire', '6661.03': 'hang' },
}

/** The magic input of an instruction, if any. A return code has no effect outside of the ACH network. */
export const findSpell = (instruction: RailInstruction): Spell | undefined => {
  for (const leg of [instruction.destination, instruction.source]) {
    const spell = magicInputs.accountNumberEndsWith[leg.bank?.accountNumber.slice(-4) ?? '']
    if (spell === undefined) continue
    if (spell.effect !== 'return') return spell
    if (spell.times === undefined ? leg.transferType.includes('ach_') : leg.transferType === 'ach_debit') return spell
  }
  return magicInputs.amountIs[instruction.amount.value]
}
