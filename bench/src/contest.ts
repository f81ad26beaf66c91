import { figureOf, type Measurement } from './measurement.ts'

/** One way to do the work. */
export interface Contender {
  readonly name: string
  /** Works for so long, checks the work, and returns the measurement. Throws when the work is wrong. */
  round(seconds: number): Promise<Measurement>
}

/** Two figures to be divided, round by round. */
export interface Ratio {
  /** Name of a contender. */
  readonly of: string
  /** Name of a contender, or of a reference. */
  readonly to: string
  /** Name of the figure; the contest's own when absent. */
  readonly figure?: string | undefined
  /** Name of the figure that it is divided by; the same when absent. */
  readonly toFigure?: string | undefined
  /** Lower aim of the project; absent without one. */
  readonly aim?: number | undefined
  /** Upper aim of the project; absent without one. */
  readonly atMost?: number | undefined
}

/** Contenders under the same conditions. */
export interface Contest {
  readonly name: string
  readonly contenders: readonly Contender[]
  readonly ratios: readonly Ratio[]
  /** Figures that are computed rather than measured, by name. */
  readonly references: Readonly<Record<string, number>>
  /** Name of the figure that the contest is about; `per second` when absent. */
  readonly figure?: string | undefined
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
  /** The default size of the workload; absent where the size is fixed. */
  readonly size?: number | undefined
  /** True where its turns restart the server; such a workload cannot run on a server that is given by its URL. */
  readonly restartsServer?: boolean | undefined
  /** Prepares the contests on a server. */
  open(serverUrl: string, size: number, restartServer: () => Promise<void>): Promise<OpenWorkload>
}

/** A workload that is ready to run. */
export interface OpenWorkload {
  readonly contests: readonly Contest[]
  close(): Promise<void>
}

/** The result of a contest: per contender one measurement a round, in the order of the rounds. */
export interface ContestResult {
  readonly name: string
  readonly ratios: readonly Ratio[]
  readonly references: Readonly<Record<string, number>>
  /** Name of the figure that the contest is about. */
  readonly figure: string
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
  const { name, ratios, references, figure = 'per second' } = contest
  return { name, ratios, references, figure, measurements }
}

/** The same values, starting at another one. */
export function rotate<T>(values: readonly T[], by: number): readonly T[] {
  const start = values.length === 0 ? 0 : by % values.length
  return [...values.slice(start), ...values.slice(0, start)]
}

/** The quotients of a ratio, one per round. */
export function quotients(result: ContestResult, ratio: Ratio): readonly number[] {
  const own = result.measurements[ratio.of] ?? []
  const { figure = result.figure } = ratio
  const { toFigure = figure } = ratio
  return own.flatMap((measurement, round) => {
    const rivals = result.measurements[ratio.to]?.[round]
    const rival = result.references[ratio.to] ?? (rivals === undefined ? undefined : figureOf(rivals, toFigure))
    const value = figureOf(measurement, figure)
    return rival === undefined || value === undefined ? [] : [value / rival]
  })
}

/** The name of a ratio: its two sides, and the figure where that is not the contest's own. */
export function nameOf(result: ContestResult, { of, to, figure = result.figure, toFigure = figure }: Ratio): string {
  if (of === to) return `${of}: ${figure} / ${toFigure}`
  return `${of} / ${to}${figure === result.figure ? '' : `, ${figure}`}`
}

/** A ratio's aim and whether its median meets it; empty without an aim. */
export function judge({ aim, atMost }: Ratio, median: number): string {
  if (aim !== undefined) return `≥ ${aim} ${median >= aim ? 'met' : 'missed'}`
  return atMost === undefined ? '' : `≤ ${atMost} ${median <= atMost ? 'met' : 'missed'}`
}
