import { setTimeout as delay } from 'node:timers/promises'
import type { Backlog, Engine } from '@outlay/core'

const pauseMs = 20

/** How long {@link waitUntil} waits. Every member has a default. */
export interface WaitOptions {
  /** Milliseconds. Default 60 000. */
  readonly timeoutMs?: number | undefined
  /** The condition and its present state, for the error. */
  readonly describe?: string | (() => string) | undefined
}

/** What {@link drain} waits for. Every member has a default. */
export interface DrainOptions {
  /** Milliseconds. Default 60 000. */
  readonly timeoutMs?: number | undefined
  /** Also waits until nothing awaits funds. Default false. */
  readonly awaitingFunds?: boolean | undefined
  /** Also waits until nothing is blocked. Default false. */
  readonly blocked?: boolean | undefined
  /** Replaces the whole condition. */
  readonly until?: ((backlog: Backlog) => boolean) | undefined
}

/**
 * Waits until the engine has nothing left to do: nothing queued, submitting, submitted or undelivered. Returns the
 * final backlog.
 *
 * @throws Error with the backlog after `timeoutMs`.
 */
export async function drain(engine: Pick<Engine<unknown>, 'backlog'>, options: DrainOptions = {}): Promise<Backlog> {
  const isDone = options.until ?? ((backlog) => isDrained(backlog, options))
  let last: Backlog | undefined
  return waitUntil(
    async () => {
      last = await engine.backlog()
      return isDone(last) ? last : undefined
    },
    {
      timeoutMs: options.timeoutMs ?? 60_000,
      describe: () => `the engine to drain; its backlog is ${JSON.stringify(last)}`,
    },
  )
}

function isDrained(backlog: Backlog, options: DrainOptions): boolean {
  const { queued, submitting, submitted, undelivered, awaitingFunds, blocked } = backlog
  const waiting = (options.awaitingFunds ? awaitingFunds : 0) + (options.blocked ? blocked : 0)
  return queued + submitting + submitted + undelivered + waiting === 0
}

/**
 * Calls `probe` repeatedly until it returns anything but `undefined` or `false`, and returns that.
 *
 * @throws Error with the description after `timeoutMs`. Errors of `probe` are rethrown at once.
 */
export async function waitUntil<T>(
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  options: WaitOptions = {},
): Promise<T> {
  const { timeoutMs = 60_000, describe = 'the condition' } = options
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await probe()
    if (answer !== undefined && answer !== false) return answer
    if (performance.now() >= deadline) {
      throw new Error(`Waited ${timeoutMs} ms for ${typeof describe === 'string' ? describe : describe()}`)
    }
    await delay(pauseMs)
  }
}
