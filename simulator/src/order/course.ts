/** Something whose place among the others decides how a run ends. */
export interface Happening {
  /** The plan, or a worker by its number and how often it was started. */
  readonly actor: string
  readonly what: string
  /** A strike is what befalls an actor in between. */
  readonly phase: 'begin' | 'end' | 'strike'
  /** The payouts that it is about. */
  readonly payouts: readonly number[]
}

/** How a run went, so far as its plan does not say. */
export interface Course {
  readonly happened: readonly Happening[]
  /** Where planned faults occurred that hit the first actor to come. */
  readonly befell: readonly string[]
}

/** How far a run kept to an earlier one. */
export interface Kept {
  readonly kept: number
  /** How much did not come about in its turn. */
  readonly missed: number
  /** The first of that. */
  readonly firstMissed: Happening | undefined
}
