import type { Logger, PaceNews, Settlement, WorkHandlers } from '@outlay/core'
import { maxReleased, type PaceStore, type StoredPace, type WaitingAccount } from '../paces.ts'
import { type Loop, startLoop } from './loop.ts'

/** Slows accounts down that the service throttles, and lets go what waits for its turn. */
export interface Pacer extends Loop {
  /**
   * Takes note of an answer of the service. After a 429 it resolves when no claim of the account gets past it: until then the
   * slot is kept, or the next transfer of the account would follow into the same.
   */
  hear(accountId: string, settlement: Settlement): Promise<void> | undefined
  /** Slows an account down as after a 429 that asks to wait so long. Resolves when no claim of the account gets past it. */
  slowDown(accountId: string, forMs: number): Promise<void>
  /** Takes note that a submission of the account has ended. */
  makeRoom(accountId: string): void
  /** Takes note that something may have begun to wait. */
  expectWaiting(): void
  /** True while the service wants to hear nothing about the account. */
  isHeld(accountId: string): boolean
}

/** What a pacer works with. */
export interface PacerOptions<Tx> {
  readonly paces: PaceStore
  readonly handlers: Pick<WorkHandlers<Tx>, 'decidePace'>
  readonly logger: Logger
  readonly onReleased: () => void
}

/** Pause between looks at what waits, in milliseconds. */
const waitingPauseMs = 100

/** Pause between looks while nothing waits, in milliseconds. */
const idlePauseMs = 1_000

/** Pause between looks at accounts that are slowed down, in milliseconds. */
const loweredPauseMs = 500

/** Pause between deletions of what is over, in milliseconds. */
const forgetPauseMs = 30_000

/** What the service has said and nobody has written yet. */
interface Throttlings {
  /** Resolves when it is written. */
  add(accountId: string, retryAfterMs: number): Promise<void>
  /** True while there is something to write. */
  any(): boolean
  write(): Promise<void>
}

function createThrottlings<Tx>(options: PacerOptions<Tx>): Throttlings {
  const { paces } = options
  const unwritten = new Map<string, { readonly retryAfterMs: number; readonly heard: (() => void)[] }>()
  return {
    add(accountId, wishMs) {
      const { retryAfterMs, heard } = unwritten.get(accountId) ?? { retryAfterMs: 0, heard: [] }
      unwritten.set(accountId, { retryAfterMs: Math.max(wishMs, retryAfterMs), heard })
      return new Promise((done) => heard.push(done))
    },
    any: () => unwritten.size > 0,
    async write() {
      for (const [accountId, { retryAfterMs, heard }] of unwritten) {
        const count = heard.length
        const changed = await changePace(options, await paces.read(accountId), async (known) => ({
          kind: 'throttled',
          retryAfterMs,
          submittedPerSecond: known.pace === null ? await paces.submittedLately(accountId) : 0,
        }))
        // Whoever wrote meanwhile has heard of the same; it is decided anew in the next turn.
        if (!changed) continue
        for (const done of heard.splice(0, count)) done()
        if (heard.length === 0) unwritten.delete(accountId)
      }
    },
  }
}

/** Starts the loop that keeps the pace of accounts. */
export function startPacer<Tx>(options: PacerOptions<Tx>): Pacer {
  const { paces, logger } = options
  const throttlings = createThrottlings(options)
  const answered = new Set<string>()
  /** Until when accounts are held, by the monotonic clock of this process. */
  let holds = new Map<string, number>()
  let waiting = new Map<string, WaitingAccount>()
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let forgotAtMs = performance.now()

  const look = async () => {
    lookedAtMs = performance.now()
    const lowered = await paces.readLowered()
    for (const known of lowered) {
      const news = { kind: 'looked', answered: answered.has(known.accountId), waitedAt: known.waitedAt } as const
      if (await changePace(options, known, async () => news)) answered.delete(known.accountId)
    }
    holds = new Map(lowered.map((known) => [known.accountId, performance.now() + heldMs(known)]))
    for (const accountId of answered) if (!holds.has(accountId)) answered.delete(accountId)
  }
  const release = async () => {
    const found = await paces.release()
    waiting = new Map(found.map((account) => [account.accountId, account]))
    if (found.some(({ released }) => released > 0)) options.onReleased()
    return found.some(({ released }) => released === maxReleased)
  }
  const loop = startLoop({
    name: 'pace',
    logger,
    async turn() {
      const isNews = throttlings.any()
      await throttlings.write()
      if (isNews || performance.now() - lookedAtMs >= (holds.size > 0 ? loweredPauseMs : idlePauseMs)) await look()
      const isMore = await release()
      if (performance.now() - forgotAtMs >= forgetPauseMs) {
        forgotAtMs = performance.now()
        await paces.forget()
      }
      if (isMore || throttlings.any()) return 0
      return waiting.size > 0 ? waitingPauseMs : holds.size > 0 ? loweredPauseMs : idlePauseMs
    },
  })
  const slowDown = (accountId: string, forMs: number) => {
    const written = throttlings.add(accountId, forMs)
    loop.wake()
    return written
  }
  return {
    wake: () => loop.wake(),
    async stop() {
      await loop.stop()
      // What the service said last is kept for whoever works next.
      await throttlings.write().catch(() => undefined)
    },
    slowDown,
    hear(accountId, { throttledForMs, answer }) {
      if (throttledForMs !== null) return slowDown(accountId, throttledForMs)
      if (holds.has(accountId) && answer.outcome !== 'unknown' && answer.outcome !== 'throttled')
        answered.add(accountId)
      return undefined
    },
    makeRoom(accountId) {
      if (waiting.get(accountId)?.bounded === true) loop.wake()
    },
    expectWaiting() {
      if (waiting.size === 0) loop.wake()
    },
    isHeld: (accountId) => (holds.get(accountId) ?? 0) > performance.now(),
  }
}

const heldMs = ({ pace, now }: StoredPace): number =>
  pace === null ? 0 : Math.max(0, Date.parse(pace.heldUntil) - now.getTime())

/** Decides on a pace and writes what changed; false when somebody else has written meanwhile. */
async function changePace<Tx>(
  { paces, handlers, logger }: PacerOptions<Tx>,
  known: StoredPace,
  readNews: (known: StoredPace) => Promise<PaceNews>,
): Promise<boolean> {
  const { accountId, pace } = known
  const news = await readNews(known)
  const next = handlers.decidePace(pace, news, known.now)
  if (next === pace) return news.kind === 'throttled'
  if (!(await paces.write(known, next))) return false
  if (news.kind === 'throttled' && next?.ratePerSecond !== pace?.ratePerSecond) {
    logger.warn(
      { accountId, ratePerSecond: next?.ratePerSecond, heldUntil: next?.heldUntil },
      'An account is slowed down; it waits and then goes slower.',
    )
  } else if (next === null) {
    logger.info({ accountId }, 'An account that was slowed down goes at its own pace again.')
  }
  return true
}
