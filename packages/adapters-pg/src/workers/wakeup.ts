import type { Logger } from '@outlay/core'
import type { Driver, Listener } from '../database/driver.ts'
import { thrownText } from '../database/thrown-text.ts'

/** Keeps a listening connection open; opens another when it is lost. Until then, workers poll. */
export interface Wakeup {
  stop(): Promise<void>
}

/** Pause before another connection is opened, in milliseconds. */
const reopenMs = 1_000

/** Starts listening on `channel`, when the driver can. */
export function startWakeup<Tx>(options: {
  readonly driver: Driver<Tx>
  readonly channel: string
  readonly logger: Logger
  readonly onWake: () => void
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
  const open = async () => {
    try {
      const opened = await driver.listen?.({ channel: options.channel, onNotification: options.onWake, onLost: reopen })
      if (stopped) await opened?.close()
      else listener = opened
      options.onWake()
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
