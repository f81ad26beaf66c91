import { describe, expect, it } from 'vitest'
import { findQueueInTests, findQueueOutside } from './queue.ts'
import { readFiles } from './repository.ts'

describe('the queue', () => {
  it('is known in one room', () => {
    expect(readFiles().flatMap(findQueueOutside)).toEqual([])
  })

  it('is known to tests, programs and benchmarks in one file of each package', () => {
    expect(readFiles().flatMap(findQueueInTests)).toEqual([])
  })
})

describe('the check of the queue', () => {
  const functions = 'packages/adapters-pg/sql/functions'

  it.each([
    [`${functions}/cancel.sql`, `delete from {{queue_table}} j where j.id = p_job;`],
    [`${functions}/cancel.sql`, `select 1 from x where name = '{{queue}}'`],
    [`${functions}/cancel.sql`, 'select t.id, -- the job\n  j.start_after from y'],
    ['packages/adapters-pg/sql/views/transfers.sql', 'select j.heartbeat_on from x'],
    ['packages/adapters-pg/src/limits/credentials.ts', 'const a = `update {{queue_table}} j set state = 1`'],
    ['packages/adapters-pg/src/schema/roles.ts', `const a = tokens['queue_table']`],
    ['packages/adapters-pg/src/inspection/health.ts', 'const a = `select q.monitor_on from {{queue_info}} q`'],
    ['packages/adapters-pg/src/backend.ts', `import { PgBoss } from 'pg-boss'`],
  ])('reports in %s: %s', (path, text) => {
    expect(findQueueOutside({ path, text })).toHaveLength(1)
  })

  it.each([
    [`${functions}/queue_remove.sql`, `delete from {{queue_table}} j where j.id = p_job;`],
    ['packages/adapters-pg/src/queue/queue.ts', `import { PgBoss } from 'pg-boss'\nconst a = '{{queue_table}}'`],
    [
      `${functions}/cancel.sql`,
      '-- pg-boss writes start_after\nselect {{schema}}.queue_remove(array[p_job]), v_start_after',
    ],
    ['packages/adapters-pg/src/a.ts', '/** What start_after of pg-boss means. */\nconst retry_count = 1'],
    ['packages/adapters-pg/src/a.pg.test.ts', 'const a = `update outlay_queue.job set start_after = now()`'],
    ['packages/service/src/housekeeping.ts', `import { PgBoss } from 'pg-boss'`],
  ])('lets pass in %s: %s', (path, text) => {
    expect(findQueueOutside({ path, text })).toEqual([])
  })

  it.each([
    ['packages/adapters-pg/src/work.pg.test.ts', 'const a = `delete from outlay_queue.job`'],
    ['packages/adapters-pg/test/outbox.ts', 'const a = `truncate mine.job where start_after < now()`'],
    ['simulator/src/run/steps.ts', `const a = 'outlay_service_engine_queue'`],
  ])('reports in %s, outside of the file for the queue: %s', (path, text) => {
    expect(findQueueInTests({ path, text })).toHaveLength(1)
  })

  it.each([
    ['packages/adapters-pg/test/queue.ts', 'const a = `delete from outlay_queue.job`'],
    ['simulator/src/run/steps.ts', '// As outlay_queue has it.\nconst a = 1'],
  ])('lets pass in %s: %s', (path, text) => {
    expect(findQueueInTests({ path, text })).toEqual([])
  })
})
