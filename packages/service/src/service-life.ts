import { OutlayError } from '@outlay/core'
import type { ServiceContext } from './context.ts'
import { stopInStages } from './stopping.ts'

/** The running of a service, from start to stop and to the next start. */
export interface ServiceLife {
  /** True from the end of a start to the beginning of the next stop. */
  isRunning(): boolean
  /** As `Service.start` says. */
  start(): Promise<void>
  /** As `Service.stop` says. */
  stop(): Promise<void>
}

/** How one run opens and closes what runs. */
export interface ServiceRun {
  /** What to open, in order; nothing more is opened once a stop has begun, or one of them has failed. */
  readonly steps: readonly (() => Promise<void>)[]
  /** Closes what is open so far. A part that does not close is left after a time. */
  close(): Promise<void>
  /** Closes what a step has opened after `close`, since that did not wait for it any longer. */
  closeLate(): Promise<void>
}

interface Current {
  readonly run: ServiceRun
  readonly stopping: AbortController
  /** Never rejects. */
  readonly opened: Promise<void>
}

/** Makes the life of a service. Each start makes a run of its own. */
export function createServiceLife(
  context: Pick<ServiceContext, 'logger' | 'stopLimitMs'>,
  createRun: () => ServiceRun,
): ServiceLife {
  let current: Current | undefined
  let ending: Promise<void> | undefined
  let isRunning = false

  /** Waits for a step that is under way as long as for any part, so that nothing is closed while it is being opened. */
  const end = async ({ run, opened }: Current, before: Promise<void> | undefined): Promise<void> => {
    await before?.catch(() => undefined)
    let isOpened = false
    const waited = opened.then(() => {
      isOpened = true
    })
    await stopInStages(context, [[{ name: 'start', stop: () => waited }]])
    const wasOpened = isOpened
    try {
      await run.close()
    } finally {
      if (!wasOpened) void waited.then(() => run.closeLate()).catch(() => undefined)
    }
  }
  const begin = (run: ServiceRun): Current & { readonly opening: Promise<void> } => {
    const stopping = new AbortController()
    const opening = open(run, stopping.signal, ending)
    return { run, stopping, opening, opened: opening.catch(() => undefined) }
  }
  const endCurrent = (one: Current): Promise<void> => {
    isRunning = false
    current = undefined
    one.stopping.abort(new OutlayError('aborted', 'The service was stopped before it had started.'))
    return endBy(end(one, ending))
  }
  /** Every stop until that ends is this one. The next stop of what did not stop tries again. */
  const endBy = (closing: Promise<void>): Promise<void> => {
    ending = closing
    closing.catch(() => {
      if (ending === closing) ending = undefined
    })
    return closing
  }
  return {
    isRunning: () => isRunning,
    async start() {
      // A second start must not stop what the first one has started.
      if (current !== undefined) throw new Error('The service is started already; stop it first.')
      const mine = begin(createRun())
      current = mine
      try {
        await mine.opening
      } catch (error) {
        if (current === mine) await endCurrent(mine).catch(() => undefined)
        throw error
      }
      if (current === mine) isRunning = true
      else throw mine.stopping.signal.reason
    },
    stop() {
      if (current !== undefined) return endCurrent(current)
      // What was never started may have been used: rails are stopped once.
      return ending ?? endBy(createRun().close())
    },
  }
}

/** Opens what a run consists of, when the run before has ended. */
async function open({ steps }: ServiceRun, signal: AbortSignal, before: Promise<void> | undefined): Promise<void> {
  await before?.catch(() => undefined)
  for (const step of steps) {
    signal.throwIfAborted()
    await step()
  }
  signal.throwIfAborted()
}
