import type { Clock, Runtime } from '../ports/runtime.ts'

/** Most steps before other work of the process gets a turn, and most time: steps cost more or less. */
const turn = { steps: 100, ms: 10 }

/** Lets other work of the process run when a turn is over. A clock that was set back ends it too. */
export function createTurns({
  yieldToEventLoop,
  clock,
}: Pick<Runtime, 'yieldToEventLoop'> & { readonly clock: Clock }): () => Promise<void> {
  let steps = 0
  let began = clock.now().getTime()
  return async () => {
    steps += 1
    if (steps < turn.steps && Math.abs(clock.now().getTime() - began) < turn.ms) return
    await yieldToEventLoop?.()
    steps = 0
    began = clock.now().getTime()
  }
}
