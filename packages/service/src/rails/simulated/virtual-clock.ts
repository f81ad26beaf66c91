import type { Clock } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Pool } from 'pg'
import { run, statement } from '../../database/statement.ts'
import { asSystem } from '../../database/tenant.ts'

/**
 * The time of the simulated rails: real time plus an offset that only grows and that every process shares.
 *
 * It moves only payments: tokens, signatures and rate limits use real time.
 */
export interface VirtualClock extends Clock {
  /** Applies an offset that another process has set. */
  adopt(offsetMs: number): void
  /** Moves the time forward, durably, and resolves with the new time. */
  advance(milliseconds: number): Promise<Date>
}

/** Makes the virtual clock of a schema. */
export function createVirtualClock(options: {
  readonly pool: Pool
  readonly schema: string
  readonly clock: Clock
}): VirtualClock {
  let offsetMs = 0
  const now = (): Date => new Date(options.clock.now().getTime() + offsetMs)
  const adopt = (stored: number): void => {
    offsetMs = Math.max(offsetMs, stored)
  }
  return {
    now,
    adopt,
    async advance(milliseconds) {
      const rows = await run(asSystem(options), options, advanceClock, [milliseconds])
      for (const row of rows) adopt(row.offsetMs)
      return now()
    },
  }
}

const advanceClock = statement(
  'simulation_clock_advance',
  'update {{schema}}.simulation_clock set offset_ms = offset_ms + $1 returning offset_ms',
  rowDecoder('simulation clock', { offsetMs: Column.anyNumber }),
)
