/** What a run of the command line may read and use. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Results. */
  stdout(text: string): void
  /** Progress and errors. */
  stderr(text: string): void
  /** Ends commands that run until they are stopped. */
  readonly signal: AbortSignal
  /** True when a person watches: progress is printed. */
  readonly interactive: boolean
}
