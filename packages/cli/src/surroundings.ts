/** What a run of the command line may see and use. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Results. */
  stdout(text: string): void
  /** Progress and errors. */
  stderr(text: string): void
  /** Ends what goes on until it is told to stop. */
  readonly signal: AbortSignal
  /** True when a person watches: progress is shown. */
  readonly interactive: boolean
}
