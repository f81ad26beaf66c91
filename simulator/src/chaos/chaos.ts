import { setTimeout as delay } from 'node:timers/promises'
import type { Backlog } from '@outlay/core'
import { seededRandom } from '@outlay/testing'
import { comeToRest } from '../site/rest.ts'
import { openSite, type Site, type SiteOptions } from '../site/site.ts'
import type { Judged } from '../site/site-recorder.ts'
import { judge, type Verdict } from '../site/verdict.ts'
import { type FaultName, faultKinds } from './faults.ts'

/** What a run is to do. */
export interface ChaosOptions extends Partial<Pick<SiteOptions, 'workers' | 'rate' | 'onCollapse' | 'history'>> {
  readonly seed: number
  /** No fault begins later than this, in milliseconds after everything runs, but for the rounds that are asked for. */
  readonly faultsForMs: number
  /** How often each kind is there at least. Default 0. */
  readonly rounds?: number | undefined
  /** Default: all kinds. */
  readonly kinds?: readonly FaultName[] | undefined
  /** How long everything gets to come to its end after the last fault, in milliseconds. Default 15 minutes. */
  readonly restTimeoutMs?: number | undefined
  /** Receives each fault when it is over. */
  readonly onFault?: (fault: FaultRecord) => void
  /** Receives the progress from time to time. */
  readonly onCheck?: (backlog: Backlog) => void
}

/** One fault that was. */
export interface FaultRecord {
  readonly kind: FaultName
  readonly detail: string
  /** From its end until what {@link faultKinds} says for its kind; null when that took too long. */
  readonly recoveryMs: number | null
  /** True when another one was going on, so that its recovery says little. */
  readonly isOneOfTwo: boolean
}

/** What came of a run. */
export interface ChaosResult {
  readonly seed: number
  readonly faults: readonly FaultRecord[]
  readonly verdict: Verdict
  readonly judged: Judged
  /** From the last fault until everything had come to its end; null when it had not. */
  readonly restMs: number | null
}

/** Pause before a fault, in milliseconds. */
const pauseMs = { shortest: 500, longest: 2_000 }

/** How many of a hundred faults come two at a time, once each kind has occurred alone. */
const pairsPerHundred = 30

/** Starts everything, lets faults happen, ends them, waits until everything has come to its end, and judges. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, workers = 3, rate = 12, restTimeoutMs = 900_000, onCollapse, history } = options
  await using site = await openSite({
    seed,
    customers: 3,
    workers,
    writers: 2,
    rate,
    isWild: true,
    onCollapse,
    history,
  })
  const faults = await strikeOn(site, options).catch((error: unknown) => {
    // Named before the site is closed, which may wait for what the fault has broken.
    onCollapse?.(`a fault could not be played: ${error instanceof Error ? error.stack : String(error)}`)
    throw error
  })
  const began = performance.now()
  const isDone = await comeToRest(site, restTimeoutMs, options.onCheck)
  const restMs = isDone ? performance.now() - began : null
  return { seed, faults, restMs, verdict: await judge(site), judged: await site.recorder.judge(isDone) }
}

async function strikeOn(site: Site, options: ChaosOptions): Promise<readonly FaultRecord[]> {
  const { fraction } = seededRandom(options.seed)
  const { kinds = Object.keys(faultKinds) as FaultName[], rounds = 0, onFault, onCheck } = options
  const faults: FaultRecord[] = []
  const checking = setInterval(() => void site.backlog().then(onCheck, () => undefined), 2_000)
  const until = performance.now() + options.faultsForMs
  let deck: FaultName[] = []
  const drawKind = (): FaultName => {
    if (deck.length === 0) deck = shuffle(kinds, fraction)
    return deck.pop() as FaultName
  }
  try {
    while (performance.now() < until || faults.length < rounds * kinds.length) {
      await delay(pauseMs.shortest + fraction() * (pauseMs.longest - pauseMs.shortest))
      const isPair = faults.length >= kinds.length && fraction() * 100 < pairsPerHundred
      const struck = await Promise.all(
        (isPair ? [drawKind(), drawKind()] : [drawKind()]).map((kind) =>
          strike(site, kind, isPair, seededRandom(Math.floor(fraction() * 2 ** 31)).fraction),
        ),
      )
      faults.push(...struck)
      for (const fault of struck) onFault?.(fault)
    }
    return faults
  } finally {
    clearInterval(checking)
  }
}

async function strike(site: Site, kind: FaultName, isOneOfTwo: boolean, fraction: () => number): Promise<FaultRecord> {
  const excused = site.recorder.excuse(kind)
  const { detail, endedAtMs, recovered } = await faultKinds[kind].strike(site, fraction)
  const at = await recovered()
  excused()
  return { kind, detail, isOneOfTwo, recoveryMs: at === undefined ? null : at - endedAtMs }
}

function shuffle<T>(from: readonly T[], fraction: () => number): T[] {
  return from
    .map((value) => ({ value, rank: fraction() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ value }) => value)
}
