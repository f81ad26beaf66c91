import { memoryGateway, waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'

const { pool, open, enqueue, enqueueMany, rows } = await testHost()

it.each([
  ['without a state', ''],
  ['with a state of its own', ` using errcode = 'SUN01'`],
])(
  'a trigger of the host that refuses an outcome %s keeps back that one alone, and it is sent once',
  async (_, using) => {
    await pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin
      if new.account_id = 'odd' then raise exception 'not on Sundays'${using}; end if;
      return new;
    end $$;
    create trigger refuse before update on outlay.transfer for each row when (new.remote_id is not null) execute function refuse()`)
    try {
      const gateway = memoryGateway()
      const engine = open({ gateway })
      const { id } = await enqueue(engine, { accountId: 'odd' })
      await enqueueMany(engine, 40, 'acme')
      await engine.start()
      await waitUntil(
        async () =>
          (await rows(`select from outlay.transfer where account_id = 'acme' and stage = 'settled'`)).length === 40,
      )
      const [odd] = await rows('select stage from outlay.transfer where id = $1', [id])
      expect(odd).toEqual({ stage: 'submitting' })
      await pool.query('drop function refuse cascade')
      await reach(engine, id, { stage: 'settled' })
      expect(gateway.submissions.filter(({ accountId }) => accountId === 'odd')).toHaveLength(1)
    } finally {
      await pool.query('drop function if exists refuse cascade')
    }
  },
)

it('what was decided by the rules of other code has a state of its own: no row is searched behind it', async () => {
  await expect(pool.query(`select outlay.settle('[]', 1)`)).rejects.toMatchObject({ code: 'OUTRU' })
})
