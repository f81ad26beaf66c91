/** How long an idle loop rests without a wake-up, in milliseconds. */
const restMs = 60_000

/** Which of some loops are idle. One of them at a time is woken, by an event or by time. */
export interface IdleLoops {
  /** The loop goes to work. */
  leave(index: number): void
  /** The loop found nothing; returns how long it rests, in milliseconds. */
  enter(index: number): number
  /** Wakes the loop that has been idle longest; when none is, the next that would be idle works on instead. */
  wake(): void
  /** Wakes the idle loop of the smallest index below this one; does nothing when none of those is idle. */
  wakeBelow(index: number): void
  stop(): void
}

/** Makes the memory of idle loops. While there is one, one is woken every `pollIntervalMs`. */
export function createIdleLoops(wakeLoop: (index: number) => void, pollIntervalMs: number): IdleLoops {
  const idle = new Set<number>()
  let timer: NodeJS.Timeout | undefined
  let isMissed = false
  let isStopped = false

  const wake = () => {
    const [first] = idle
    if (first === undefined) {
      isMissed = true
      return
    }
    idle.delete(first)
    wakeLoop(first)
  }
  const schedule = () => {
    if (timer !== undefined || isStopped || idle.size === 0) return
    timer = setTimeout(() => {
      timer = undefined
      wake()
      schedule()
    }, pollIntervalMs)
  }
  return {
    leave(index) {
      idle.delete(index)
      isMissed = false
    },
    enter(index) {
      if (isMissed) {
        isMissed = false
        return 0
      }
      idle.add(index)
      schedule()
      return restMs
    },
    wake,
    wakeBelow(index) {
      const found = Math.min(...idle)
      if (found >= index) return
      idle.delete(found)
      wakeLoop(found)
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
