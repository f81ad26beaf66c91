import type { Driver } from './driver.ts'
import { createBacklogReads } from './inspection-backlog.ts'
import { createEventTail, type EventTail, type EventTailOptions } from './inspection-events.ts'
import { type HealthFacts, readHealth } from './inspection-health.ts'
import { readSchemaState, type SchemaState } from './inspection-schema.ts'
import { createTransferReads } from './inspection-transfers.ts'
import { locate } from './place.ts'

/** Where to look. */
export interface InspectionOptions<Tx> {
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
  /** Schema of the queue's tables. Default the engine's with `_queue` behind it. */
  readonly queueSchema?: string | undefined
}

/** What operators read: typed reads over the engine's views, none of which changes anything. */
export type Inspection<Tx> = ReturnType<typeof inspect<Tx>>

/**
 * Makes the reads that operators need: what is stuck and why, how far everybody is behind, what is wrong with the place.
 * They read the views of the schema, so dashboards that read those see the same.
 *
 * @example
 * const inspection = inspect({ driver: pgDriver(pool) })
 * for (const { id, waitsFor, remedy } of await inspection.stuck({ limit: 20 })) console.log(id, waitsFor, remedy)
 */
export function inspect<Tx>(options: InspectionOptions<Tx>) {
  const { driver } = options
  const place = locate(options)
  return {
    ...createTransferReads(driver, place),
    ...createBacklogReads(driver, place),
    /** What the schema has and lacks; works on an empty database too. */
    schema: (): Promise<SchemaState> => readSchemaState(driver, place),
    /** What tells whether the place is well; needs a schema that is current. */
    health: (): Promise<HealthFacts> => readHealth(driver, place),
    /** Follows events as they are committed. */
    tail: (tail: EventTailOptions = {}): EventTail => createEventTail(driver, place, tail),
  }
}
