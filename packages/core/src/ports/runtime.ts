import type { Digest } from '../idempotency.ts'

/** The time, as an explicit dependency: core reads no clock directly. */
export interface Clock {
  now(): Date
}

/** Randomness, as an explicit dependency. */
export interface Random {
  /** Fills and returns `bytes` with cryptographically strong random octets. */
  bytes(length: number): Uint8Array
  /** A uniform number in [0, 1), for jitter only. */
  fraction(): number
}

/** Timers, as an explicit dependency: they bound calls into code outside the engine. */
export interface Timer {
  /** Calls `run` once after `ms` milliseconds; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void
}

/** The engine's log. The engine ignores what a logger throws. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** What an engine needs from its environment. */
export interface Runtime {
  readonly clock: Clock
  readonly random: Random
  readonly timer: Timer
  readonly logger: Logger
  /** Yields to other work of the process; long computations call it regularly. Default: they do not yield. */
  readonly yieldToEventLoop?: (() => Promise<void>) | undefined
  /** A faster digest than the JavaScript one of core, which is the default. */
  readonly digest?: Digest | undefined
}
