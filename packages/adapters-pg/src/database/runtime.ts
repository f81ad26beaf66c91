import * as crypto from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { Digest, Logger, Random, Runtime, Timer } from '@outlay/core'

/** Warnings and errors of a host that has given no logger go to its console, one line each. */
const consoleLogger: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(formatLine(fields, message)),
  error: (fields, message) => console.error(formatLine(fields, message)),
}

const formatLine = (fields: Readonly<Record<string, unknown>>, message: string): string =>
  `outlay: ${message}${Object.keys(fields).length === 0 ? '' : ` ${inspect(fields, { breakLength: Infinity })}`}`

/** Octets that are drawn from the system at once: a call for each id would cost more than the id. */
const poolSize = 4_096

/** The system's randomness. Every octet is handed out once. */
function systemRandom(): Random {
  let pool = new Uint8Array(0)
  let used = 0
  return {
    bytes(length) {
      if (used + length > pool.length) {
        pool = crypto.randomFillSync(new Uint8Array(Math.max(poolSize, length)))
        used = 0
      }
      used += length
      return pool.subarray(used - length, used)
    },
    fraction: () => Math.random(),
  }
}

const timer: Timer = {
  after(ms, run) {
    const timeout = setTimeout(run, ms)
    return () => clearTimeout(timeout)
  },
}

// Node 18 has no digest in one call.
const digest: Digest =
  'hash' in crypto
    ? (text) => crypto.hash('sha256', text, 'hex')
    : (text) => crypto.createHash('sha256').update(text).digest('hex')

/** The system's clock, randomness and timers, and a logger that warns on the console unless one is given. */
export function systemRuntime(logger: Logger = consoleLogger): Runtime {
  return {
    clock: { now: () => new Date() },
    random: systemRandom(),
    timer,
    logger,
    yieldToEventLoop: () => setImmediate(),
    digest,
  }
}
