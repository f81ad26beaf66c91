import type { ErrorCode } from '../../packages/core/src/error.ts'

/** The meaning of each code, and what to do about it. The page cannot be written without an entry. */
export const errorMeanings: Readonly<Record<ErrorCode, readonly [meaning: string, remedy: string]>> = {
  invalid_request: ['The input is invalid.', 'Fix the member that the field names.'],
  missing_field: ['A member is missing.', 'Give it.'],
  response_only_field: ['The input has a member that only answers have.', 'Leave it out.'],
  invalid_id: ['An id does not have the form of one.', 'Use the id unchanged.'],
  invalid_amount: [
    'An amount is no decimal string: an exponent, a sign or a separator, for example.',
    'Write it as `1250.00`.',
  ],
  amount_not_positive: ['An amount is zero.', 'Give more than zero.'],
  amount_too_precise: [
    'An amount has more digits after the point than its value type.',
    'Round it; see the [scales](catalog.md).',
  ],
  amount_too_large: ['An amount has too many digits.', 'Check the unit.'],
  currency_mismatch: [
    'The currency of the amount is neither that of a leg nor the peg of its token.',
    'Give the amount in a currency of a leg.',
  ],
  unknown_value_type: ['No such currency or token.', 'Choose from the [catalog](catalog.md), or extend it.'],
  unknown_transfer_type: ['No such rail or chain.', 'Choose from the [catalog](catalog.md), or extend it.'],
  invalid_address: ['An address does not have the form that its chain requires.', 'Ask the counterparty for it again.'],
  address_checksum_mismatch: [
    'An address breaks its checksum, so a character is wrong.',
    'Ask the counterparty for it again; never correct it by guessing.',
  ],
  mixed_chains: ['One entry has chains that do not share an address format.', 'Register one entry for each family.'],
  mixed_environments: ['One entry has main chains and test chains.', 'Register one entry for each environment.'],
  transfer_type_not_supported: [
    'The address, or the client, cannot use the transfer type.',
    'Add it to the address, or choose another one.',
  ],
  invalid_account_number: [
    'A bank account number does not have the form of one.',
    'Ask the counterparty for it again.',
  ],
  invalid_routing_number: ['A routing number breaks its check digit.', 'Ask the counterparty for it again.'],
  invalid_clabe: ['A CLABE breaks its check digit.', 'Ask the counterparty for it again.'],
  unsupported_flow: [
    'Source and destination make no transfer that exists.',
    'Check value types and transfer types of both legs.',
  ],
  ach_limit_exceeded: ['The amount exceeds the limit of an ACH payment.', 'Split it, or use a wire.'],
  peg_mismatch: [
    'The two value types are not worth the same, and the request has no quote.',
    'Get a quote and send its `quote_id`, or use value types with the same peg.',
  ],
  quote_mismatch: [
    'The quote is for other value types or for another amount.',
    'Send one of its two amounts, or get a quote for this transfer.',
  ],
  swap_chain_mismatch: ['A swap does not stay on its chain.', 'Use one chain for both legs.'],
  brand_not_supported: ['A brand was given for a transfer that is not ACH.', 'Leave it out.'],
  wire_memo_not_supported: ['A memo was given for a transfer that is not an outbound wire.', 'Leave it out.'],
  wire_memo_too_long: ['A memo is longer than a wire carries.', 'Shorten it to 140 characters.'],
  note_too_long: ['A note is too long.', 'Shorten it to 255 characters.'],
  metadata_too_large: ['Metadata are too large.', 'Keep them in your own tables.'],
  idempotency_key_missing: ['A create came without an `Idempotency-Key`.', 'Send one, stored before the request.'],
  idempotency_key_invalid: ['A key is not 1 to 255 visible ASCII characters.', 'Use a UUID, or your own id.'],
  idempotency_key_mismatch: [
    'The key was used for another request.',
    'Find out which. A corrected request is a new one with a new key.',
  ],
  idempotency_key_in_flight: ['A request with this key is under way.', 'Send the same one again after Retry-After.'],
  insufficient_balance: ['The source holds too little.', 'Fund it; the same key may be sent again.'],
  account_not_ready: ['The account has not completed its onboarding.', 'Wait for `account.updated`.'],
  payee_not_ready: [
    'The destination is a wallet of another account here, which cannot receive money now.',
    'Send it again later, or use another address.',
  ],
  quote_refused: [
    'There is no rate for this pair or this amount.',
    'Ask for another amount, or ask later with a new key.',
  ],
  quote_expired: [
    'The quote had expired when the transfer was created.',
    'Get a new quote, and create the transfer with a new key.',
  ],
  quote_used: ['Another transfer has used the quote.', 'Get a new quote for this transfer.'],
  address_archived: ['The address is archived.', 'Use another one.'],
  bank_login_required: [
    'The owner of a linked bank account has to log in again.',
    'Send the owner through an update link.',
  ],
  balance_not_available: [
    'The balance of an address that is not custodial was asked for.',
    'Ask for a custodial wallet.',
  ],
  unauthenticated: [
    'The credentials or the access token are not accepted.',
    'Renew the token; if that does not help, the credentials.',
  ],
  forbidden: ['The credentials lack a scope.', 'Have the scope granted.'],
  not_found: ['The object does not exist, or belongs to another client.', 'Check the id and the account.'],
  conflict: ['The state does not allow it.', 'Read the state, then decide.'],
  rate_limited: ['Too many requests.', 'Send the same one again after Retry-After.'],
  service_unavailable: [
    'The service cannot answer now, and has not done anything.',
    'Send the same one again, with its key.',
  ],
  outcome_unknown: [
    'No answer came, or the answer does not say what happened: money may have moved.',
    'Send the same request again, with the same key, and nothing else.',
  ],
  unreadable_response: ['An answer cannot be read.', 'For a read, try again. Report it to the service if it persists.'],
  rejected_by_service: ['The service refused with a code of its own, which the cause has.', 'See the cause.'],
  aborted: ['The caller ended the request.', 'After a create, treat it as `outcome_unknown`.'],
  no_transaction: [
    'No transaction is open on what was given as `tx`, so the write would be committed apart from the rows of the host.',
    'Pass the transaction that the library gives, or a client on which `begin` has run.',
  ],
  transfer_not_found: ['The engine has no such transfer.', 'Check the id; `outlay transfers list` shows them.'],
  transfer_not_cancelable: ['It is final, or its money may have moved.', '`outlay prove` shows the evidence about it.'],
  policy_refused: [
    'A policy refuses the transfer; the message has its name and why.',
    'Change the request, or have the policy changed.',
  ],
  approval_refused: [
    'This person may not approve or release the transfer: who created it may not, nobody may twice, and a role is asked for.',
    'Let somebody else do it.',
  ],
  subscription_attended: [
    'A running process attends the subscription, and would receive no later event after its removal.',
    'Stop the processes that subscribe to it. Two minutes after the last one it can be removed.',
  ],
  events_undelivered: [
    'The subscription has undelivered events, dead letters included, which its removal would delete.',
    'Let a process handle them, replay the dead letters, or remove it with `{ discard: true }` or `--discard`.',
  ],
  environment_mismatch: [
    'Testnet and mainnet are mixed: a chain, a gateway and a database are not all of the same environment.',
    'Give the engine the gateway of the environment that its database belongs to.',
  ],
  database_unfamiliar: [
    'The database is a copy, or it was moved, and it has not been adopted.',
    'Run `outlay adopt-database` if it is the one to pay from.',
  ],
  insufficient_privilege: [
    'The database role of the transaction may not enqueue.',
    'Run the grant, or the `outlay roles`, that the message names.',
  ],
  not_migrated: ['The schema lacks migrations of this release.', 'Run `outlay migrate`, then start again.'],
  schema_too_new: ['The schema is of a newer release that this one cannot work with.', 'Install that release.'],
  queue_version_untested: [
    'The tables of the queue have a version that this release was not tested with.',
    'Install the pg-boss that this release pins.',
  ],
  webhook_signature_invalid: [
    'No secret signed this webhook.',
    'Answer 401. Check the secret, and that the body is the one received, byte for byte.',
  ],
  webhook_timestamp_out_of_tolerance: [
    'A webhook is signed, but too old or from the future.',
    'Answer 401. Check the clock.',
  ],
  wrong_node: [
    'A transaction, or a database, is of another node than that of the account, or the account has left the node.',
    'Roll back, and begin again with `transaction(accountId, work)` of the shards; at a start, check which connection string belongs to which name.',
  ],
  node_unavailable: [
    'A node, or the directory of accounts, did not answer in time.',
    'Try again when it is back; the accounts of the other nodes do not wait.',
  ],
  policy_unknown: [
    'The policies have a kind, a condition or a name that this release or the catalog of this process does not know, so nothing is enqueued past them.',
    'Update the process, give it the catalog of the one that set them, or set policies that it knows.',
  ],
  account_moving: [
    'The account moves to another node at this moment; nothing was written.',
    'Roll back, and try again in a few seconds, as after a lost connection.',
  ],
}
