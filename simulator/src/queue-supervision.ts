import type { Driver } from '@outlay/adapters-pg'
import { PgBoss } from 'pg-boss'

/** Supervises the queue once, as the timers of an engine do, over the engine's driver. */
export async function superviseQueue(driver: Pick<Driver<unknown>, 'run'>): Promise<void> {
  const boss = new PgBoss({
    db: {
      // The engine waits no longer than that for locks.
      executeSql: (text, values) =>
        driver.run(text.replace(/SET LOCAL lock_timeout = \d+/, 'SET LOCAL lock_timeout = 250'), values),
    },
    schema: 'outlay_queue',
    migrate: false,
    createSchema: false,
    supervise: false,
    schedule: false,
    monitorIntervalSeconds: 5,
  })
  boss.on('error', () => undefined)
  await boss.supervise()
}
