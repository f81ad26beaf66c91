/** Something whose place among the others decides how a run ends. */
export interface Happening {
  /** The plan, or a worker by its number and how often it was started. */
  readonly actor: string
  readonly what: string
  readonly phase: 'begin' | 'end'
  /** The payouts that it is about. */
  readonly payouts: readonly number[]
}

/** The order of what happens in a run: recorded, or enforced as it was recorded. */
export interface Order {
  /**
   * Lets something happen in its turn. `about` is null while only its answer tells what it is about, as with a poll: one that finds
   * nothing does not count.
   */
  pass<T>(
    actor: string,
    what: string,
    about: readonly number[] | null,
    run: () => Promise<T>,
    found?: (answer: T) => readonly number[],
  ): Promise<T>
  /** Records and enforces nothing any more. */
  stop(): void
  readonly happened: readonly Happening[]
  /** How much of the order was enforced, and how much did not come about in its turn. */
  readonly enforced: { readonly kept: number; readonly missed: number }
}

/** Records the order of a run, and holds it to an earlier one where there is such. */
export function createOrder(earlier: readonly Happening[] = []): Order {
  const record = createRecord()
  const turns = createTurns(earlier)
  let isOver = false
  return {
    happened: record.happened,
    get enforced() {
      return turns.counts
    },
    stop() {
      isOver = true
      turns.stop()
    },
    async pass(actor, what, about, run, found = () => about ?? []) {
      if (isOver) return run()
      const turn = turns.find(actor, what, about)
      await turn.begin()
      const begun = record.begin(actor, what, about)
      try {
        const answer = await run()
        const payouts = found(answer)
        if (about === null && payouts.length === 0) {
          begun.forget()
          turn.giveBack()
        } else {
          await turn.end()
          begun.end(payouts)
        }
        return answer
      } catch (error) {
        await turn.end()
        throw error
      }
    },
  }
}

/** What has happened so far. */
function createRecord() {
  const happened: Happening[] = []
  return {
    happened,
    begin(actor: string, what: string, about: readonly number[] | null) {
      const begun = { actor, what, phase: 'begin' as const, payouts: about ?? [] }
      happened.push(begun)
      return {
        forget: () => void happened.splice(happened.indexOf(begun), 1),
        end(payouts: readonly number[]) {
          begun.payouts = payouts
          happened.push({ actor, what, phase: 'end', payouts })
        },
      }
    },
  }
}

/** How long everybody waits for what is next before it is passed over, in milliseconds; shorter when it goes on like that. */
const patience = { ms: 400, shortMs: 25, misses: 4 }

interface Turn {
  begin(): Promise<void>
  end(): Promise<void>
  /** It did not count. */
  giveBack(): void
}

const noTurn: Turn = { begin: async () => undefined, end: async () => undefined, giveBack: () => undefined }

/** Goes through an order, and waits for what is next no longer than patience allows. */
function createLine(earlier: readonly Happening[]) {
  const done = new Set<number>()
  const waiting = new Set<() => void>()
  const counts = { kept: 0, missed: 0 }
  let next = 0
  let misses = 0
  let timer: NodeJS.Timeout | undefined
  const wind = () => {
    clearTimeout(timer)
    if (next >= earlier.length || waiting.size === 0) return
    timer = setTimeout(skip, misses >= patience.misses ? patience.shortMs : patience.ms)
  }
  const advance = () => {
    while (done.has(next)) next += 1
    for (const look of [...waiting]) look()
    wind()
  }
  const skip = () => {
    misses += 1
    counts.missed += 1
    done.add(next)
    advance()
  }
  return {
    counts,
    done,
    isOver: () => next >= earlier.length,
    first: () => next,
    end() {
      next = earlier.length
      advance()
    },
    /** Something has happened. */
    keep(place: number) {
      if (!done.has(place)) {
        misses = 0
        counts.kept += 1
      }
      done.add(place)
      advance()
    },
    /** Resolves when everything before a place has happened. */
    reach: (place: number) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (next < place) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
        wind()
      }),
  }
}

/** Enforces an order. */
function createTurns(earlier: readonly Happening[]) {
  const line = createLine(earlier)
  const taken = new Set<number>()
  const seek = (phase: Happening['phase'], actor: string, what: string, about: readonly number[], from: number) =>
    earlier.findIndex((one, place) => {
      if (place < from || taken.has(place) || line.done.has(place) || one.phase !== phase) return false
      if (one.actor !== actor || one.what !== what) return false
      return about.length === 0 || about.some((payout) => one.payouts.includes(payout))
    })
  return {
    counts: line.counts,
    stop: line.end,
    find(actor: string, what: string, about: readonly number[] | null): Turn {
      if (line.isOver()) return noTurn
      const begin = seek('begin', actor, what, about ?? [], line.first())
      // A poll whose turn never comes would take what others are to find.
      if (begin < 0) return about === null ? { ...noTurn, begin: () => line.reach(earlier.length) } : noTurn
      taken.add(begin)
      return {
        async begin() {
          await line.reach(begin)
          if (about !== null) line.keep(begin)
        },
        async end() {
          line.keep(begin)
          const end = seek('end', actor, what, earlier[begin]?.payouts ?? [], begin + 1)
          if (end < 0) return
          taken.add(end)
          await line.reach(end)
          line.keep(end)
        },
        giveBack: () => void taken.delete(begin),
      }
    },
  }
}
