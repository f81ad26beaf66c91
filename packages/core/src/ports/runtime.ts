import type { Digest } from '../idempotency.ts'

/** The time, as an explicit dependency: core reads no clock of its own. */
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

/** Timers, as an explicit dependency: they bound calls into code that is not the engine's. */
export interface Timer {
  /** Calls `run` once after `ms` milliseconds; gives what prevents that. */
  after(ms: number, run: () => void): () => void
}

/** Where the engine reports what it does; what it throws is ignored. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** What an engine needs from its surroundings. */
export interface Runtime {
  readonly clock: Clock
  readonly random: Random
  readonly timer: Timer
  readonly logger: Logger
  /** Lets other work of the process have its turn; long computations call it now and then. Default: they do not. */
  readonly giveWay?: (() => Promise<void>) | undefined
  /** A faster digest than the one that core has in JavaScript, which is the default. */
  readonly digest?: Digest | undefined
}
