/** What must hold, by name. */
export const invariants = {
  one_effect: 'One transfer at the service for each committed payout, none for one that was rolled back.',
  same_on_both_sides: 'Status, amount and failure are equal on both sides.',
  status_path: 'Every history of a status is a path in the table of transitions.',
  nothing_stuck: 'What is not final waits for something that has a name, and in the end nothing is left.',
  ledger: 'Entries sum to zero, no balance is below zero, balances are what their entries say.',
  returns_once:
    'Each return at the service is one event of its transfer here: none is lost, none comes twice, none is that of a stranger.',
  quotes_once: 'A quote is used by one transfer at most, of its account, with its amounts, before it expires.',
  approved_by_two:
    'What a policy holds is sent after two others than its creator have approved it, whatever a process knew of the policies.',
  screened:
    'What a policy holds for screening is sent after the screener let it pass, or somebody did by name, and never for want of an answer.',
  earlier_payments:
    'A first payment, and what looks like another payment, is sent after a person let it go, and nothing else is held for that.',
  audit_chained: 'Every entry of the audit is in its chain in the end, and fits it, whatever has died.',
  within_limits:
    'No more leaves in a day, of an account and of all, than its limit says, but for what a person let go beyond it.',
  effects_once: 'What each subscriber did is what happened: once each, in order per transfer.',
  keys: 'No key stands for two requests, and the log of attempts has no holes.',
  tenants_apart: 'Nothing of one tenant is seen by another.',
  judge: 'The judge, who knows only what was recorded from outside, finds every promise kept.',
  never_before_its_time: 'Nothing is sent before its time.',
  key_lifetime: 'No key is sent beyond its lifetime after an attempt that was not answered.',
  unknown_is_bounded: 'An outcome that stays unknown for a day waits for a person, whatever else is answered.',
  one_client_while_unknown: 'No key reaches the service for one account from two of its clients.',
  events_reach_their_handler: 'A handler is given every event of the types that it asked for, and no other.',
  tenant_served: 'A tenant whose own side is well is served, whatever others do.',
  host_is_no_victim: 'No transaction of a host is aborted for a deadlock with workers.',
  batches_count: 'What was enqueued into a batch is in it, and its counts are those of its transfers at each moment.',
  batches_complete:
    'A closed batch in which everything has ended completes, with one event; nothing enters it or changes in it after that.',
  batches_obey: 'What waits in a paused batch is not sent; what was canceled with a batch is sent no more.',
  corrected_once:
    'Of an ended transfer and its successor one at most moves money; each names the other and has its metadata and batch.',
  moved_whole: 'An account is on one node with all that it has, wherever it moves, and each move of it ends.',
  host_pool_is_clean: 'Statements of a host on the pool that it shares with the engine do what they do without it.',
} as const

/** Name of an invariant. */
export type InvariantName = keyof typeof invariants

/** Something that must not be. */
export interface Violation {
  readonly invariant: InvariantName
  readonly detail: string
}

/** A check all along. */
export interface Watch {
  readonly violations: readonly Violation[]
  check(): Promise<void>
}
