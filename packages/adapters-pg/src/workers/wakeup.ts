import type { Logger } from '@outlay/core'
import type { Driver, Listener, ListenOptions } from '../database/driver.ts'
import { thrownText } from '../database/thrown-text.ts'

/** Keeps a listening connection open; opens another when it is lost. Until then, workers poll. */
export interface Wakeup {
  stop(): Promise<void>
}

/** Payload of a notification of a transfer whose enqueue nobody else waits for; the SQL of an enqueue sends it. */
const outboxPayload = 'outbox'

/** Pause before another connection is opened, in milliseconds. */
const reopenMs = 1_000

/** Starts listening on `channel`, when the driver can. */
export function startWakeup<Tx>(options: {
  readonly driver: Driver<Tx>
  readonly channel: string
  readonly logger: Logger
  /** Called when something is new: with true when that is a transfer in the outbox and nothing else. */
  readonly onWake: (isOutboxAlone: boolean) => void
}): Wakeup {
  const { driver, logger } = options
  let stopped = false
  let listener: Listener | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let opening: Promise<void> = Promise.resolve()

  const reopen = (error: unknown) => {
    listener = undefined
    if (stopped) return
    const message = thrownText(error)
    logger.warn({ error: message }, 'The listening connection was lost; polling goes on until it is open again.')
    timer = setTimeout(() => {
      opening = open()
    }, reopenMs)
  }
  const onNotification: ListenOptions['onNotification'] = (notification) =>
    options.onWake(notification?.payload === outboxPayload)
  const open = async () => {
    try {
      const opened = await driver.listen?.({ channel: options.channel, onNotification, onLost: reopen })
      if (stopped) await opened?.close()
      else listener = opened
      options.onWake(false)
    } catch (error) {
      reopen(error)
    }
  }
  opening = open()
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await opening
      await listener?.close()
    },
  }
}
