import type { LoopProgress } from '@outlay/core'

/** The loops of one process: who asks sees whether they turn. */
export interface LoopList {
  /** Adds a loop; returns a function that removes it when it has ended. */
  add(read: () => LoopProgress): () => void
  read(): readonly LoopProgress[]
}

/** Makes a list without loops. */
export function createLoopList(): LoopList {
  const loops = new Set<() => LoopProgress>()
  return {
    add(read) {
      loops.add(read)
      return () => void loops.delete(read)
    },
    read: () => [...loops].map((read) => read()),
  }
}
