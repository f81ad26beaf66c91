import type { Metadata, Stage, TransferStatus } from '@outlay/core'

/** Which transfers to list. Members that are absent do not narrow the list. */
export interface TransferFilter {
  readonly accountId?: string | undefined
  readonly gateway?: string | undefined
  readonly stage?: Stage | undefined
  readonly status?: TransferStatus | undefined
  readonly reason?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** Decimal string; 12.5 and 12.50 are one amount. */
  readonly amount?: string | undefined
  /** In any case of its letters. */
  readonly currency?: string | undefined
  /** The id of the payee's address or the name of one that was given in full, in any case of its letters. */
  readonly payee?: string | undefined
  /** Enqueued then or later, and before `until`; ISO 8601. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** Transfers that have all of these pairs. */
  readonly metadata?: Metadata | undefined
  /** Transfers of this batch. */
  readonly batchId?: string | undefined
  /** Only transfers older than the one with this id: the last one of the page before. */
  readonly before?: string | undefined
  /** At most so many. Default 50. */
  readonly limit?: number | undefined
}

/** The number of an amount's text; null where the service wrote none. */
export const amountOf = (text: string): string => `{{schema}}.amount_of(jsonb_build_object('value', ${text}))`

/** One pair of metadata: a condition of its own for each, so that the planner can begin with the rarest. */
const pairText = `v.id in (select m.transfer_id from jsonb_each_text($::jsonb) p
  join {{schema}}.transfer_metadata m on m.name = p.key and m.value = p.value)`

const payeeText = `exists (select from {{schema}}.transfer p where p.id = v.id
  and lower($) in (lower(p.request -> 'destination' ->> 'addressId'), lower(p.request -> 'destination' -> 'address' ->> 'name')))`

/** The conditions of a filter, with a view `transfers` named v. Only the filters that are given stand in the text, so that the planner sees which partial index fits. */
export function conditionsOf(filter: TransferFilter): { readonly where: string; readonly values: readonly unknown[] } {
  const wanted = [
    ['v.account_id = $', filter.accountId],
    ['v.gateway = $', filter.gateway],
    ['v.stage = $', filter.stage],
    ['v.status = $', filter.status],
    ['v.reason = $', filter.reason],
    ['v.idempotency_key = $', filter.idempotencyKey],
    [`${amountOf('v.amount')} = $::numeric`, filter.amount],
    ['lower(v.currency) = lower($)', filter.currency],
    [payeeText, filter.payee],
    ['v.created_at >= $::timestamptz', filter.since],
    ['v.created_at < $::timestamptz', filter.until],
    ['v.batch_id = $', filter.batchId],
    ['v.id < $', filter.before],
    ...Object.entries(filter.metadata ?? {}).map((pair) => [pairText, JSON.stringify(Object.fromEntries([pair]))]),
  ].filter(([, value]) => value !== undefined)
  const conditions = wanted.map(([condition = ''], index) => condition.replace('$', () => `$${index + 1}`))
  // The place of a stage says which index has it.
  if (filter.stage === 'submitted') conditions.push('v.next_poll_at is not null')
  else if (filter.stage !== undefined && filter.stage !== 'settled')
    conditions.push("v.remote_id is null and v.status = 'pending'")
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  return { where, values: wanted.map(([, value]) => value) }
}
