import { memoryGateway } from '@outlay/testing'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createPollStore } from './polls.ts'

const submitted = 4_000

// One session, so that the plan is the one that was made while the table was empty.
const { open, driver, commit, rows } = await testHost({ max: 1 })
const polls = createPollStore(driver, resolveNames({}).tokens)

it('a page of a list is compared with the transfers that it has, not with all that are submitted', async () => {
  for (let round = 0; round < 8; round += 1) expect(await polls.listed('acme', ['T-1', 'T-2'])).toEqual([])
  const payouts = Array.from({ length: submitted }, () => samplePayout('acme'))
  await commit((tx) => open({ gateway: memoryGateway() }).transfers.enqueueMany(tx, payouts))
  await rows(`update outlay.transfer set stage = 'submitted', remote_id = id, next_poll_at = now() + interval '1 hour'`)
  const ids = (await rows('select id from outlay.transfer order by id limit 100')).map(({ id }) => id)
  const before = await readSoFar()
  expect((await polls.listed('acme', ids)).map(({ transferId }) => transferId).sort()).toEqual(ids)
  expect((await readSoFar()) - before).toBeLessThan(submitted / 10)
})

/** Rows and entries of indexes of transfers that were read. */
async function readSoFar(): Promise<number> {
  await rows('select pg_stat_force_next_flush()')
  const [read] = await rows(
    `select (seq_tup_read + coalesce(idx_tup_fetch, 0) + (
       select sum(i.idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid))::integer as rows
     from pg_stat_user_tables t where schemaname = 'outlay' and relname = 'transfer'`,
  )
  return read.rows
}
