import { memoryGateway, waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { loseJobs } from '../../test/queue.ts'

const { pool, open, enqueue, enqueueMany, rows } = await testHost()

it('a trigger of the host that refuses a claim keeps back that transfer alone', async () => {
  await pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin
      if new.account_id = 'odd' then raise exception 'not on Sundays'; end if;
      return new;
    end $$;
    create trigger refuse before update on outlay.transfer for each row when (new.stage = 'submitting') execute function refuse()`)
  try {
    const gateway = memoryGateway()
    const engine = open({ gateway })
    const { id } = await enqueue(engine, { accountId: 'odd' })
    await enqueueMany(engine, 40, 'acme')
    await engine.start()
    const settled = async () =>
      (await rows(`select from outlay.transfer where account_id = 'acme' and stage = 'settled'`)).length
    await waitUntil(async () => (await settled()) === 40)
    expect(await rows('select stage from outlay.transfer where id = $1', [id])).toEqual([{ stage: 'queued' }])
    expect(gateway.submissions.filter(({ accountId }) => accountId === 'odd')).toEqual([])

    // The worker whose job it is has not claimed it: it comes back as one of a worker that is gone.
    await pool.query('drop function refuse cascade')
    await loseJobs(pool, id)
    await reach(engine, id, { stage: 'settled' })
    expect(gateway.submissions).toHaveLength(41)
  } finally {
    await pool.query('drop function if exists refuse cascade')
  }
})
