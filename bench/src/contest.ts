import type { Measurement } from './measurement.ts'

/** One way to do the work. */
export interface Contender {
  readonly name: string
  /** Works for so long, proves that the work was done right, and answers with what it measured. Throws when it was not. */
  round(seconds: number): Promise<Measurement>
}

/** Two rates to be divided, round by round. */
export interface Ratio {
  /** Name of a contender. */
  readonly of: string
  /** Name of a contender, or of a reference. */
  readonly to: string
  /** What the project aims at; absent where there is no aim. */
  readonly aim?: number | undefined
}

/** Contenders that meet under the same conditions. */
export interface Contest {
  readonly name: string
  readonly contenders: readonly Contender[]
  readonly ratios: readonly Ratio[]
  /** Rates per second that are computed rather than measured, by name. */
  readonly references: Readonly<Record<string, number>>
  /** Length of the round that is not counted, in seconds. */
  readonly warmUpSeconds: number
}

/** A set of contests about one question. */
export interface Workload {
  readonly name: string
  /** What one operation is, in one sentence. */
  readonly title: string
  /** Length of a measured round unless the caller says otherwise, in seconds. */
  readonly seconds: number
  /** Prepares the contests on a server. */
  open(serverUrl: string): Promise<OpenWorkload>
}

/** A workload that is ready to run. */
export interface OpenWorkload {
  readonly contests: readonly Contest[]
  close(): Promise<void>
}

/** What a contest came to: per contender one measurement a round, in the order of the rounds. */
export interface ContestResult {
  readonly name: string
  readonly ratios: readonly Ratio[]
  readonly references: Readonly<Record<string, number>>
  readonly measurements: Readonly<Record<string, readonly Measurement[]>>
}

/**
 * Runs a contest: a warm-up, then rounds in which every contender has its turn. The order rotates, so that none always
 * runs behind the same rival, and a ratio compares turns of the same round, so that a slow minute hits both sides.
 */
export async function runContest(
  contest: Contest,
  options: { readonly rounds: number; readonly seconds: number; readonly onTurn: (progress: string) => void },
): Promise<ContestResult> {
  const { contenders } = contest
  const measurements: Record<string, Measurement[]> = Object.fromEntries(contenders.map(({ name }) => [name, []]))
  for (const contender of contenders) {
    options.onTurn(`warm-up, ${contender.name}`)
    await contender.round(contest.warmUpSeconds)
  }
  for (let round = 0; round < options.rounds; round += 1) {
    for (const contender of rotate(contenders, round)) {
      options.onTurn(`round ${round + 1} of ${options.rounds}, ${contender.name}`)
      measurements[contender.name]?.push(await contender.round(options.seconds))
    }
  }
  return { name: contest.name, ratios: contest.ratios, references: contest.references, measurements }
}

/** The same values, starting at another one. */
export function rotate<T>(values: readonly T[], by: number): readonly T[] {
  const start = values.length === 0 ? 0 : by % values.length
  return [...values.slice(start), ...values.slice(0, start)]
}

/** The quotients of a ratio, one per round. */
export function quotients(result: ContestResult, ratio: Ratio): readonly number[] {
  const own = result.measurements[ratio.of] ?? []
  const reference = result.references[ratio.to]
  return own.flatMap((measurement, round) => {
    const rival = reference ?? result.measurements[ratio.to]?.[round]?.perSecond
    return rival === undefined ? [] : [measurement.perSecond / rival]
  })
}
