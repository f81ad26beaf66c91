import { setTimeout as pause } from 'node:timers/promises'

/** Work on accounts that are due. */
export interface DueWork<T> {
  /** Leases at most `limit` accounts that are due, given the clients of those that are under way, each once for each account. */
  lease(limit: number, busy: readonly string[]): Promise<readonly (T & { readonly clientId: string })[]>
  /** Works on one. Never rejects. */
  work(one: T): Promise<void>
}

/** How due accounts are worked off. */
export interface DueOptions {
  /** Most accounts at a time. */
  readonly places: number
  /** How often it polls for accounts that become due while others are under way. */
  readonly pollIntervalMs: number
  /** Ends the taking of further ones. */
  readonly signal: AbortSignal
}

/**
 * Works off what is due: as one account ends, the next one is taken, so that nobody waits for the slowest. Resolves when nothing is due and
 * nothing is under way; at the signal, when nothing is under way.
 */
export async function workOff<T>({ lease, work }: DueWork<T>, options: DueOptions): Promise<void> {
  const { places, pollIntervalMs, signal } = options
  const busy = new Map<Promise<void>, string>()
  const take = async (): Promise<number> => {
    if (busy.size >= places) return 0
    try {
      const due = await lease(places - busy.size, [...busy.values()])
      for (const one of due) {
        const end: Promise<void> = work(one).finally(() => busy.delete(end))
        busy.set(end, one.clientId)
      }
      return due.length
    } catch (error) {
      // Those that are under way go on, and the next poll may succeed.
      if (busy.size === 0) throw error
      return 0
    }
  }
  while (!signal.aborted) {
    const taken = await take()
    if (busy.size === 0) return
    if (taken === 0) await firstOf([...busy.keys()], pollIntervalMs, signal)
  }
  await Promise.all(busy.keys())
}

/** Waits until one of these ends, or for a time, or for the signal. */
async function firstOf(ends: readonly Promise<void>[], waitMs: number, signal: AbortSignal): Promise<void> {
  const ended = new AbortController()
  const waited = pause(waitMs, undefined, { signal: AbortSignal.any([signal, ended.signal]) }).catch(() => undefined)
  await Promise.race([...ends, waited])
  ended.abort()
}
