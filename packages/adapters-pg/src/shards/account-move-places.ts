/** Connections of a pool that moves hold for as long as they take. */
export interface MovePlaces {
  /** Takes one of so many, behind whoever waits already. Throws what `aborted` gives when the signal comes first. */
  take(most: number, signal: AbortSignal | undefined, aborted: () => Error): Promise<Disposable>
}

const made = new WeakMap<object, MovePlaces>()

/** The places of a pool, which everything in this process shares that uses it. */
export function placesOf(pool: object): MovePlaces {
  const places = made.get(pool) ?? createMovePlaces()
  made.set(pool, places)
  return places
}

function createMovePlaces(): MovePlaces {
  const waiting: (() => void)[] = []
  let taken = 0
  const place = (): Disposable => {
    let isTaken = true
    return {
      [Symbol.dispose]() {
        if (!isTaken) return
        isTaken = false
        const next = waiting.shift()
        // It goes to the next one in one step, so that nobody takes it in between.
        if (next === undefined) taken -= 1
        else next()
      },
    }
  }
  return {
    async take(most, signal, aborted) {
      if (signal?.aborted === true) throw aborted()
      if (taken < most) {
        taken += 1
        return place()
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const leave = () => {
        const at = waiting.indexOf(resolve)
        if (at < 0) return
        waiting.splice(at, 1)
        reject(aborted())
      }
      waiting.push(resolve)
      signal?.addEventListener('abort', leave)
      try {
        await promise
      } finally {
        signal?.removeEventListener('abort', leave)
      }
      return place()
    },
  }
}
