import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Logger, Runtime } from '@outlay/core'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** The system's clock and randomness, and a logger that says nothing unless one is given. */
export function systemRuntime(logger: Logger = silent): Runtime {
  return {
    clock: { now: () => new Date() },
    random: { bytes: (length) => randomBytes(length), fraction: () => Math.random() },
    logger,
    giveWay: () => setImmediate(),
  }
}
