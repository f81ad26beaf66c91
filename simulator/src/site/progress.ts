/** Says how a run goes: on a terminal in one line that changes, elsewhere with a line now and then. */
export interface Progress {
  update(text: string): void
  /** Ends the line that changes. */
  end(): void
}

/** Pause between two lines where there is no terminal, in milliseconds. */
const linePauseMs = 15_000

/** Starts to say how a run goes, with the seconds that have passed. */
export function showProgress(out: NodeJS.WriteStream): Progress {
  const began = performance.now()
  let said = began - linePauseMs
  return {
    update(text) {
      const now = performance.now()
      const line = `${String(Math.round((now - began) / 1_000)).padStart(5)} s  ${text}`
      if (out.isTTY) out.write(`\r\x1b[K${line.slice(0, out.columns - 1)}`)
      else if (now - said >= linePauseMs) {
        said = now
        out.write(`${line}\n`)
      }
    },
    end() {
      if (out.isTTY) out.write('\r\x1b[K')
    },
  }
}
