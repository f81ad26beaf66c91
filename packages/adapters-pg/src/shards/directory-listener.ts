import type { Logger } from '@outlay/core'
import type { Listener } from '../database/driver.ts'
import { thrownText } from '../database/thrown-text.ts'
import type { PoolDriver } from '../drivers/pool.ts'
import { nodeUnavailable } from './node-reachability.ts'
import { within } from './question-limit.ts'
import type { RouteCache } from './route-cache.ts'

/** Receives the changes of routes on a connection of its own, and drops them from the cache. */
export interface DirectoryListener {
  /** Begins to listen, once; resolves when the first connection is open. */
  open(): Promise<void>
  close(): Promise<void>
}

/** Pause before another connection is opened, in milliseconds. */
const reopenMs = 1_000

/** Makes a listener that opens another connection when one is lost. */
export function openDirectoryListener(options: {
  readonly driver: PoolDriver
  readonly channel: string
  readonly timeoutMs: number
  readonly logger: Logger
  readonly cache: RouteCache
}): DirectoryListener {
  const { driver, channel, timeoutMs, logger, cache } = options
  const first = Promise.withResolvers<void>()
  let state: 'closed' | 'open' | 'ended' = 'closed'
  let listener: Listener | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let opening: Promise<void> = Promise.resolve()

  const onMessage = (...given: readonly unknown[]) => cache.forget(accountOf(given[0]))
  const reopen = (error: unknown) => {
    listener = undefined
    if (state === 'ended') return
    const message =
      'The directory of accounts is not listened to; cached routes are read again after a while until it is.'
    logger.warn({ error: thrownText(error) }, message)
    timer = setTimeout(() => {
      opening = listen()
    }, reopenMs)
  }
  const listen = async () => {
    // node-postgres gives the notification to the callback.
    const opened = driver.listen?.({ channel, onNotification: onMessage, onLost: reopen })
    if (opened === undefined) return first.resolve()
    try {
      const late = () => nodeUnavailable('directory', `no connection within ${timeoutMs} ms`)
      const open = await within(timeoutMs, opened, late)
      if (state === 'ended') return void (await open.close())
      listener = open
      // What changed before this connection was open was not announced to it.
      cache.forget()
      first.resolve()
    } catch (error) {
      opened.then((late) => late.close()).catch(() => undefined)
      reopen(error)
    }
  }
  return {
    open() {
      if (state === 'closed') {
        state = 'open'
        opening = listen()
      }
      return first.promise
    },
    async close() {
      state = 'ended'
      clearTimeout(timer)
      first.resolve()
      await opening
      await listener?.close()
    },
  }
}

/** The account of a notification; undefined, which is all accounts, for one that cannot be read. */
function accountOf(message: unknown): string | undefined {
  const { payload } = (message ?? {}) as { readonly payload?: unknown }
  return typeof payload === 'string' && payload !== '' ? payload : undefined
}
