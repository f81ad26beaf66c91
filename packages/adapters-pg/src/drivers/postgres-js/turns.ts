/** Runs `work` when its turn has come. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

/** Lets so many run at a time; the others wait, first come, first served. */
export function openTurns(max: number): InTurn {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
