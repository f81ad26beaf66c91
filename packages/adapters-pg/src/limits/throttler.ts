import type { Logger } from '@outlay/core'
import type { Settlement, ThrottleSignal, WorkHandlers } from '@outlay/core/adapter'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import { maxReleased, type StoredThrottle, type ThrottleStore, type WaitingAccount } from './throttles.ts'

/** Lowers the rates of accounts that the service throttles, and releases transfers that wait for permits. */
export interface Throttler extends Loop {
  /**
   * Records an answer of the service. After a 429 it resolves when no claim of the account passes the throttle: until then the
   * slot is kept, or the next transfer of the account would get the same answer.
   */
  record(accountId: string, settlement: Settlement): Promise<void> | undefined
  /** Throttles an account as after a 429 that asks to wait so long. Resolves when no claim of the account passes the throttle. */
  slowDown(accountId: string, forMs: number): Promise<void>
  /** Records that a submission of the account has ended. */
  releasePermit(accountId: string): void
  /** Records that transfers may have begun to wait. */
  expectWaiting(): void
  /** True while the service has asked for a pause of the account. */
  isThrottled(accountId: string): boolean
}

/** What a throttler works with. */
export interface ThrottlerOptions<Tx> {
  readonly throttles: ThrottleStore
  readonly handlers: Pick<WorkHandlers<Tx>, 'decideThrottle'>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  readonly onReleased: () => void
}

/** Pause between checks while transfers wait, in milliseconds. */
const waitingPauseMs = 100

/** Pause between checks while none waits, in milliseconds. */
const idlePauseMs = 1_000

/** Pause between checks of throttled accounts, in milliseconds. */
const throttledPauseMs = 500

/** Pause between deletions of unused rows, in milliseconds. */
const forgetPauseMs = 30_000

/** Throttles that the service asked for and that are not written yet. */
interface Throttlings {
  /** Resolves when it is written. */
  add(accountId: string, retryAfterMs: number): Promise<void>
  /** True while there is something to write. */
  any(): boolean
  write(): Promise<void>
}

function createThrottlings<Tx>(options: ThrottlerOptions<Tx>): Throttlings {
  const { throttles } = options
  const unwritten = new Map<string, { readonly retryAfterMs: number; readonly waiters: (() => void)[] }>()
  return {
    add(accountId, wishMs) {
      const { retryAfterMs, waiters } = unwritten.get(accountId) ?? { retryAfterMs: 0, waiters: [] }
      unwritten.set(accountId, { retryAfterMs: Math.max(wishMs, retryAfterMs), waiters })
      return new Promise((done) => waiters.push(done))
    },
    any: () => unwritten.size > 0,
    async write() {
      for (const [accountId, { retryAfterMs, waiters }] of unwritten) {
        const count = waiters.length
        const changed = await changeThrottle(options, await throttles.read(accountId), async (known) => ({
          kind: 'throttled',
          retryAfterMs,
          submittedPerSecond: known.throttle === null ? await throttles.submittedLately(accountId) : 0,
        }))
        // Another worker wrote in between, for the same answer; the next turn decides again.
        if (!changed) continue
        for (const done of waiters.splice(0, count)) done()
        if (waiters.length === 0) unwritten.delete(accountId)
      }
    },
  }
}

/** Starts the loop that throttles accounts. */
export function startThrottler<Tx>(options: ThrottlerOptions<Tx>): Throttler {
  const { throttles, logger } = options
  const throttlings = createThrottlings(options)
  const answered = new Set<string>()
  /** Until when accounts are throttled, by the monotonic clock of this process. */
  let throttledUntilMs = new Map<string, number>()
  let waiting = new Map<string, WaitingAccount>()
  let checkedAtMs = Number.NEGATIVE_INFINITY
  let forgotAtMs = performance.now()
  const pauseMs = () => (throttledUntilMs.size > 0 ? throttledPauseMs : idlePauseMs)
  const check = async () => {
    checkedAtMs = performance.now()
    const throttled = await throttles.readThrottled()
    for (const known of throttled) {
      const signal = { kind: 'checked', answered: answered.has(known.accountId), waitedAt: known.waitedAt } as const
      if (await changeThrottle(options, known, async () => signal)) answered.delete(known.accountId)
    }
    throttledUntilMs = new Map(throttled.map((known) => [known.accountId, performance.now() + throttledMs(known)]))
    for (const accountId of answered) if (!throttledUntilMs.has(accountId)) answered.delete(accountId)
  }
  const release = async () => {
    const found = await throttles.release()
    waiting = new Map(found.map((account) => [account.accountId, account]))
    if (found.some(({ released }) => released > 0)) options.onReleased()
    return found.some(({ released }) => released === maxReleased)
  }
  const loop = startLoop({
    name: 'throttle',
    logger,
    loops: options.loops,
    async turn() {
      const isChanged = throttlings.any()
      await throttlings.write()
      if (isChanged || performance.now() - checkedAtMs >= pauseMs()) await check()
      const isMore = await release()
      if (performance.now() - forgotAtMs >= forgetPauseMs) {
        forgotAtMs = performance.now()
        await throttles.forget()
      }
      return isMore || throttlings.any() ? 0 : waiting.size > 0 ? waitingPauseMs : pauseMs()
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
      // Other workers need the last answers of the service.
      await throttlings.write().catch(() => undefined)
    },
    slowDown,
    record(accountId, { throttledForMs, answer }) {
      if (throttledForMs !== null) return slowDown(accountId, throttledForMs)
      if (throttledUntilMs.has(accountId) && answer.outcome !== 'unknown' && answer.outcome !== 'throttled')
        answered.add(accountId)
      return undefined
    },
    releasePermit(accountId) {
      if (waiting.get(accountId)?.bounded === true) loop.wake()
    },
    expectWaiting() {
      if (waiting.size === 0) loop.wake()
    },
    isThrottled: (accountId) => (throttledUntilMs.get(accountId) ?? 0) > performance.now(),
  }
}

const throttledMs = ({ throttle, now }: StoredThrottle): number =>
  throttle === null ? 0 : Math.max(0, Date.parse(throttle.throttledUntil) - now.getTime())

/** Decides on a throttle and writes the change; false when another worker has written in between. */
async function changeThrottle<Tx>(
  { throttles, handlers, logger }: ThrottlerOptions<Tx>,
  known: StoredThrottle,
  readSignal: (known: StoredThrottle) => Promise<ThrottleSignal>,
): Promise<boolean> {
  const { accountId, throttle } = known
  const signal = await readSignal(known)
  const next = handlers.decideThrottle(throttle, signal, known.now)
  if (next === throttle) return signal.kind === 'throttled'
  if (!(await throttles.write(known, next))) return false
  if (signal.kind === 'throttled' && next?.ratePerSecond !== throttle?.ratePerSecond) {
    logger.warn(
      { accountId, ratePerSecond: next?.ratePerSecond, throttledUntil: next?.throttledUntil },
      'The engine throttles an account: it pauses, then sends at a lower rate.',
    )
  } else if (next === null) {
    logger.info({ accountId }, 'An account is no longer throttled.')
  }
  return true
}
