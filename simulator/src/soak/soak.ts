import { setTimeout as delay } from 'node:timers/promises'
import { comeToRest } from '../site/rest.ts'
import { openSite, type Site } from '../site/site.ts'
import type { Judged } from '../site/site-recorder.ts'
import { judge, type Verdict } from '../site/verdict.ts'
import { measure, type Sample } from './sample.ts'

/** What a run is to do. */
export interface SoakOptions {
  readonly seed: number
  /** How long payouts are written, in milliseconds. */
  readonly forMs: number
  /** Payouts in a second. */
  readonly rate: number
  /** Pause between two samples, in milliseconds. Default 10 000. */
  readonly samplePauseMs?: number | undefined
  /** Where the history for the judge is to be kept. */
  readonly history?: string | undefined
  readonly onSample?: (sample: Sample) => void
}

/** What came of a run. */
export interface SoakResult {
  readonly rate: number
  /** The first minute is left out. */
  readonly samples: readonly Sample[]
  readonly verdict: Verdict
  readonly judged: Judged
  /** From the last payout until everything had come to its end; null when it had not. */
  readonly restMs: number | null
}

/** Time until everything has its usual size, in milliseconds; a run that is shorter leaves out a fifth. */
const warmUpMs = 60_000

/** How long a transfer keeps its history at hand, in milliseconds. */
const historyMs = 30_000

/** Pause between two searches for histories that go to the archive, in milliseconds. */
const archivePauseMs = 5_000

/** How long everything gets to come to its end, in milliseconds. */
const restTimeoutMs = 600_000

/** Sends payouts at a steady rate without faults, samples, waits until everything has ended, and judges. */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { seed, forMs, rate, samplePauseMs = 10_000, onSample, history } = options
  await using site = await openSite({ seed, customers: 3, workers: 2, writers: 1, rate, isWild: false, history })
  const archiving = keepArchiving(site)
  const began = Date.now()
  const samples: Sample[] = []
  for (let since = began; Date.now() - began < forMs; ) {
    await delay(samplePauseMs)
    const now = Date.now()
    const sample = await measure(site, began, since)
    since = now
    samples.push(sample)
    onSample?.(sample)
  }
  const stopped = performance.now()
  const isDone = await comeToRest(site, restTimeoutMs)
  const restMs = isDone ? performance.now() - stopped : null
  await archiving.stop()
  const verdict = await judge(site)
  const judged = await site.recorder.judge(isDone)
  const warm = Math.min(warmUpMs, forMs / 5)
  return { rate, samples: samples.filter(({ atMs }) => atMs >= warm), verdict, judged, restMs }
}

/** Moves histories to the archive soon after their transfers ended, as a host does after months. */
function keepArchiving({ office }: Site): { stop(): Promise<void> } {
  const ending = new AbortController()
  const archiveOn = async () => {
    while (!ending.signal.aborted) {
      await office.archive({ olderThanMs: historyMs, signal: ending.signal })
      await delay(archivePauseMs, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  }
  const running = archiveOn()
  return {
    async stop() {
      ending.abort()
      await running
    },
  }
}
