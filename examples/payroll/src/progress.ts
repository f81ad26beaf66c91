import type { Backlog } from '@outlay/core'
import { Presets, SingleBar } from 'cli-progress'

/** Prints progress on standard output, with a bar while transfers are in progress. */
export interface Progress {
  /** Prints one line, with the seconds that have passed. */
  say(text: string): void
  /** Draws the progress of the transfers, and the date in the sandbox. */
  update(backlog: Backlog, day: string): void
  [Symbol.dispose](): void
}

/** Interval between two lines without a terminal, in milliseconds. */
const linePauseMs = 5_000

/** Makes the progress of `total` transfers. */
export function createProgress(total: number): Progress {
  const startedAt = performance.now()
  const bar = new SingleBar(
    {
      format: '       {bar} {value} of {total} final, {waiting} to send, {short} await funds, {day}',
      stream: process.stdout,
      barsize: 24,
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false,
    },
    Presets.shades_classic,
  )
  let saidAt = startedAt
  const hide = () => {
    if (bar.isActive) bar.stop()
  }
  const say = (text: string) => {
    hide()
    saidAt = performance.now()
    console.log(`${((saidAt - startedAt) / 1000).toFixed(1).padStart(5)}  ${text}`)
  }
  return {
    say,
    update({ queued, submitting, awaitingFunds, settled }, day) {
      const waiting = queued + submitting
      if (process.stdout.isTTY) {
        const payload = { waiting, short: awaitingFunds, day }
        if (bar.isActive) bar.update(settled, payload)
        else bar.start(total, settled, payload)
      } else if (performance.now() - saidAt > linePauseMs) {
        say(`  ${settled} of ${total} final, ${waiting} to send, ${awaitingFunds} await funds, ${day}`)
      }
    },
    [Symbol.dispose]: hide,
  }
}
