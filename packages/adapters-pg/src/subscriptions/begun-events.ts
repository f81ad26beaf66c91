import type { Logger } from '@outlay/core'
import { Column, rowDecoder, type Subscription } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'

/** Failures of one event after which it becomes a dead letter: about a day and a half of backoff. */
export const maxFailures = 40

/** When an event is delivered again after a failure: twice as long after each, an hour at most, half of it at random. */
export const retryAt = `clock_timestamp() + least(3600, power(2, least(d.failures, 12))) * interval '1 second' * (0.5 + random())`

const texts = {
  begin_deliveries: `update {{schema}}.delivery d set begun = true
    where d.ctid = any (array(
      select x.ctid from unnest($2::text[], $3::integer[]) as n (id, sequence)
      cross join lateral (
        select y.ctid from {{schema}}.delivery y
        where y.subscription = $1 and y.transfer_id = n.id and y.sequence = n.sequence limit 1) x))`,
  // A process that still handles one has it locked.
  fail_begun: `with failed as (
      update {{schema}}.delivery d
      set ready = false, begun = false, failures = d.failures + 1, last_error = $2, dead = d.failures + 1 >= $3, due_at = ${retryAt}
      where d.ctid = any (array(
        select x.ctid from {{schema}}.delivery x where x.subscription = $1 and x.begun for no key update skip locked))
      returning d.account_id
    )
    select account_id, count(*)::integer as count from failed group by account_id`,
} as const

const processEnded = 'The process ended while it handled this event.'

/** The store of begun events. */
export type BegunEventStore<Tx> = ReturnType<typeof createBegunEventStore<Tx>>

/** Makes the store of begun events on a driver. */
export function createBegunEventStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Marks those of the fetched deliveries as begun that have to be; returns true when there were any. */
    async begin(tx: Tx, subscription: string, rows: readonly Row[], isCautious: boolean): Promise<boolean> {
      const fresh = rows.map(readBeginning).filter(({ begun, failures }) => !begun && (isCautious || failures > 0))
      if (fresh.length === 0) return false
      const ids = fresh.map(({ transferId }) => transferId)
      const sequences = fresh.map(({ sequence }) => sequence)
      await driver.execute(tx, sql.begin_deliveries, [subscription, ids, sequences])
      return true
    },
    /** Defers events that a process began and neither handled nor failed; returns how many of each account. */
    async failBegun(subscription: string): Promise<ReadonlyMap<string, number>> {
      const rows = await driver.query(sql.fail_begun, [subscription, processEnded, maxFailures])
      return new Map(rows.map(readFailed).map(({ accountId, count }) => [accountId, count]))
    },
  }
}

const readBeginning = rowDecoder('event', {
  transferId: Column.text,
  sequence: Column.integer,
  failures: Column.integer,
  begun: Column.boolean,
})

const readFailed = rowDecoder('begun events', { accountId: Column.text, count: Column.integer })

/** How long after its start a process commits that it begins with events before their handler runs, in milliseconds. */
const cautiousMs = 5_000

/**
 * A handler that ends its process rolls back whatever counts its failure, and a supervisor that starts the process again would
 * let it run into the same event for ever, before those of all other accounts. So a process that has just started, and every process for
 * an event that has failed, commits first that it begins. What is still begun at the next start counts as failed, and is deferred.
 */
export interface BegunEvents {
  /** True while every event has to be committed as begun before its handler runs. */
  isCautious(): boolean
  /** Counts events as failed that earlier processes began and did not end; once in this process. */
  keep(): Promise<void>
}

/** Makes the begun events of one subscription in this process. */
export function createBegunEvents<Tx>(
  store: Pick<BegunEventStore<Tx>, 'failBegun'>,
  { name }: Pick<Subscription<Tx>, 'name'>,
  { logger, onEnded }: { readonly logger: Logger; readonly onEnded: (accountId: string) => void },
): BegunEvents {
  const startedAt = performance.now()
  let recovering: Promise<void> | undefined
  const failBegun = async () => {
    for (const [accountId, events] of await store.failBegun(name)) {
      onEnded(accountId)
      const message = 'A process ended while it handled events; the worker delivers them again later, and others first.'
      logger.warn({ subscription: name, accountId, events }, message)
    }
  }
  return {
    isCautious: () => performance.now() - startedAt < cautiousMs,
    async keep() {
      recovering ??= failBegun().catch((error: unknown) => {
        recovering = undefined
        throw error
      })
      await recovering
    },
  }
}
