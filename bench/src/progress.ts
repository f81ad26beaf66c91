import { Presets, SingleBar } from 'cli-progress'

/** A bar on the terminal; nothing where the output is no terminal. */
export interface Progress {
  /** Counts one more turn and shows its name. */
  step(text: string): void
  stop(): void
}

/** Shows a bar for so many turns. */
export function showProgress(turns: number): Progress {
  const bar = new SingleBar(
    { format: '{bar} {value}/{total} {turn}', hideCursor: true, clearOnComplete: true, noTTYOutput: false },
    Presets.shades_classic,
  )
  bar.start(turns, 0, { turn: '' })
  return {
    step: (text) => bar.increment(1, { turn: text }),
    stop: () => bar.stop(),
  }
}
