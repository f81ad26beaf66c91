import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { fetchJobs, removeJobs } from '../../test/queue.ts'

describe('a worker whose job is gone', async () => {
  const { pool, open, commit } = await testHost()

  it.each([
    ['lets its transfer wait', 'select outlay.queue_defer(array[outlay.job_id($1)], array[now()])'],
    [
      'finds that nobody has its transfer',
      `select outlay.queue_ensure(array[outlay.job_id($1)], array[now()], array[false])`,
    ],
  ])('does not have the next job of its transfer, when another one %s', async (_, statement) => {
    const engine = open()
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    const [stalled] = await fetchJobs(pool, id)
    await removeJobs(pool, id)
    await pool.query(statement, [id])
    const [job] = await fetchJobs(pool, id)
    const holds = async (retryCount: number | undefined) =>
      (await pool.query('select outlay.queue_hold(outlay.job_id($1), $2) as held', [id, retryCount])).rows[0].held
    expect(await holds(stalled?.retryCount)).toBe(false)
    expect(await holds(job?.retryCount)).toBe(true)
  })
})
