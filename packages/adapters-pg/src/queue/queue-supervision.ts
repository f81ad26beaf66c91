import type { Logger } from '@outlay/core'
import type { Driver } from '../database/driver.ts'
import { isLockTimeout } from '../database/lock-timeout.ts'
import { queueTokens, submitQueue } from './queue.ts'

/** The supervision of the queue while it runs. */
export interface QueueSupervision {
  stop(): Promise<void>
}

/**
 * Starts pg-boss on the driver's connections: it supervises heartbeats and never migrates. Only here is it loaded, so that processes
 * without workers start sooner.
 */
export async function startQueueSupervision<Tx>(
  driver: Driver<Tx>,
  queueSchema: string,
  logger: Logger,
): Promise<QueueSupervision> {
  const { PgBoss } = await import('pg-boss')
  const boss = new PgBoss({
    db: { executeSql: (text, values) => driver.run(lockTimeout(text), values) },
    schema: queueSchema,
    migrate: false,
    createSchema: false,
    schedule: false,
    supervise: true,
    superviseIntervalSeconds: 5,
    monitorIntervalSeconds: 5,
  })
  boss.on('error', (error) => {
    logger.warn({ error: error.message }, 'The queue reported an error; it goes on.')
    if (isLockTimeout(error)) void driver.run(reviveText(queueSchema)).catch(() => undefined)
  })
  boss.on('warning', (warning) => logger.debug({ warning: warning.message }, 'The queue reported a warning.'))
  const stop = () => boss.stop({ graceful: false, close: false })
  try {
    await boss.start()
    // pg-boss caches the queue's row on first use; a miss later would cost a query at a bad time.
    await boss.getQueue(submitQueue)
    return { stop }
  } catch (error) {
    await stop().catch(() => undefined)
    throw error
  }
}

/**
 * SQL that gives back the jobs whose workers are gone, except locked ones. The supervision of pg-boss does so for all or none: a host
 * that has canceled one of them and not committed would keep all others from coming back.
 */
const reviveText = (queueSchema: string): string => {
  const { queue, queue_table: table } = queueTokens(queueSchema)
  return `with lost as (
      select j.id from ${table} j
      where j.name = '${queue}' and j.state = 'active' and j.heartbeat_on + j.heartbeat_seconds * interval '1 second' < clock_timestamp()
      for update skip locked
    )
    update ${table} j set state = 'retry', heartbeat_on = null, start_after = clock_timestamp()
    from lost l where j.name = '${queue}' and j.id = l.id`
}

/**
 * The same text with a shorter lock timeout: a host may have locked a job for as long as its transaction is open, and
 * transactions whose jobs the queue has locked by then would wait too.
 */
const lockTimeout = (text: string): string =>
  text.replace(/SET LOCAL lock_timeout = \d+/, 'SET LOCAL lock_timeout = 250')
