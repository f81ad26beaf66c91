import { checkNames } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { createGatewayStore } from '../dispatch/gateways.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createBacklogReads } from './account-backlog.ts'
import { createEventTail, type EventTail, type EventTailOptions } from './event-tail.ts'
import { type GatewayFacts, readGatewayFacts } from './gateway-facts.ts'
import { type HealthFacts, readHealth } from './health.ts'
import { createHoldsRead } from './holds.ts'
import { createPlaceRead } from './place.ts'
import { readPrepared } from './prepared-policies.ts'
import { readSchemaDifferences, type SchemaDifference } from './schema-differences.ts'
import { readSchemaState, type SchemaState } from './schema-state.ts'
import { readScreeningFacts, type ScreeningFacts } from './screening-facts.ts'
import { createStuckRead } from './stuck-transfers.ts'
import { createLockRead } from './table-locks.ts'
import { createTransferReads } from './transfer-reads.ts'

/** Where to read. */
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
 * Makes the reads that operators need: what is stuck and why, how far accounts and subscriptions are behind, what is wrong with
 * the database.
 * They read the views of the schema, so dashboards that read those see the same.
 *
 * @example
 * const inspection = inspect({ driver: pgDriver(pool) })
 * for (const { id, waitsFor, remedy } of await inspection.stuck({ limit: 20 })) console.log(id, waitsFor, remedy)
 */
export function inspect<Tx>(options: InspectionOptions<Tx>) {
  checkNames(options, ['driver', 'schema', 'queueSchema'])
  const { driver } = options
  const names = resolveNames(options)
  return {
    ...createTransferReads(driver, names),
    ...createStuckRead(driver, names),
    ...createBacklogReads(driver, names),
    ...createPlaceRead(driver, names),
    ...createHoldsRead(driver, names),
    ...createLockRead(driver, names),
    /** What the schema has and lacks; works on an empty database too. */
    schema: (): Promise<SchemaState> => readSchemaState(driver, names),
    /** Objects of the schema that are not as this release makes them; needs a schema that this release has migrated. */
    differences: (): Promise<readonly SchemaDifference[]> => readSchemaDifferences(driver, names),
    /** Names of the gateways that workers have or had. */
    gateways: (): Promise<readonly string[]> => createGatewayStore(driver, names.tokens).known(),
    /** What is known of each gateway. Reads all transfers that are not settled. */
    gatewayFacts: (): Promise<readonly GatewayFacts[]> => readGatewayFacts(driver, names),
    /** What screening keeps waiting; needs a schema that is current. */
    screening: (): Promise<ScreeningFacts> => readScreeningFacts(driver, names),
    /** True where the indexes are there that `policies.prepare` makes, without which policies about earlier transfers are refused. */
    arePoliciesPrepared: (): Promise<boolean> => readPrepared(driver, names),
    /** The health of the database; needs a schema that is current. */
    health: (): Promise<HealthFacts> => readHealth(driver, names),
    /** Streams events as they are committed. */
    tail: (tail: EventTailOptions = {}): EventTail => createEventTail(driver, names, tail),
  }
}
