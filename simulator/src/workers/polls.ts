import type { Gateway } from '@outlay/core'
import type { QueueUp } from './mortal-driver.ts'

/** The polls of one worker: whether it reads what it leases. */
export interface Polls {
  /** Notes which transfers the worker leases and defers, of statements that run as they would otherwise. */
  statement(queueUp: QueueUp): QueueUp
  /** Notes which reads leave the engine. */
  gateway(gateway: Gateway): Gateway
  /** How many polls of an account in a row have ended without a read. */
  unread(accountId: string): number
  /** Counts the polls of an account from now on. */
  forget(accountId: string): void
}

interface Leased {
  readonly accountId: string
  readonly remoteId: string
  isRead: boolean
}

/** Watches the polls of a worker. `onRead` gets the transfer that is read, by its id at the service, or the account whose list is. */
export function watchPolls(onRead: (what: string) => void = () => undefined): Polls {
  const leased = new Map<string, Leased>()
  const unread = new Map<string, number>()
  const lease = (rows: Awaited<ReturnType<QueueUp>>) => {
    for (const row of rows)
      leased.set(String(row['id']), {
        accountId: String(row['account_id']),
        remoteId: String(row['remote_id']),
        isRead: false,
      })
  }
  const defer = (ids: readonly string[]) => {
    const polled = ids.flatMap((id) => leased.get(id) ?? [])
    for (const id of ids) leased.delete(id)
    for (const [accountId, transfers] of Map.groupBy(polled, (one) => one.accountId))
      unread.set(accountId, transfers.some(({ isRead }) => isRead) ? 0 : (unread.get(accountId) ?? 0) + 1)
  }
  const read = ({ signal }: { readonly signal: AbortSignal }, accountId: string, remoteId?: string) => {
    // Nobody waits any more for what leaves so late.
    if (signal.aborted) return
    onRead(remoteId ?? accountId)
    for (const one of leased.values())
      if (one.accountId === accountId && (remoteId ?? one.remoteId) === one.remoteId) one.isRead = true
  }
  return {
    statement: (queueUp) => async (statement, values, run) => {
      const rows = await queueUp(statement, values, run)
      if (statement.name.endsWith('_lease_due')) lease(rows)
      if (statement.name.endsWith('_reschedule')) defer(values[0] as readonly string[])
      return rows
    },
    gateway(gateway) {
      const { list } = gateway
      return {
        ...gateway,
        get: (accountId, remoteId, options) => {
          read(options, accountId, remoteId)
          return gateway.get(accountId, remoteId, options)
        },
        ...(list === undefined
          ? {}
          : {
              list: (accountId, options) => {
                read(options, accountId)
                return list(accountId, options)
              },
            }),
      }
    },
    unread: (accountId) => unread.get(accountId) ?? 0,
    forget: (accountId) => void unread.delete(accountId),
  }
}
