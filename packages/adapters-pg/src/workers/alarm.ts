/** A bell that one loop waits for and any code rings. A ring without a waiter is kept for the next wait. */
export interface Alarm {
  ring(): void
  /** Ends at a ring, or after `ms` milliseconds. */
  wait(ms: number): Promise<void>
}

/** Makes an alarm. */
export function createAlarm(): Alarm {
  let rung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      rung = true
      wake?.()
    },
    async wait(ms) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        wake = undefined
      }
      rung = false
    },
  }
}
