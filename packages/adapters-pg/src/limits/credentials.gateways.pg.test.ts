import { randomUUID } from 'node:crypto'
import { memoryGateway } from '@outlay/testing'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createCredentialStore } from './credentials.ts'

const { pool, driver, open, commit, rows } = await testHost()
const credentials = createCredentialStore(driver, resolveNames({}).tokens)

it('probes refused accounts of its own gateways, however many are refused at one that no worker has', async () => {
  const engine = open({
    gateways: { default: memoryGateway(), bank: memoryGateway() },
    route: ({ note }) => note ?? 'default',
  })
  const payouts = Array.from({ length: 1_001 }, () => samplePayout(randomUUID(), { note: 'bank' }))
  const { id } = await commit(async (tx) => {
    await engine.transfers.enqueueMany(tx, payouts)
    return engine.transfers.enqueue(tx, samplePayout('acme'))
  })
  await pool.query(`update outlay.transfer set reason = 'unauthenticated';
    update outlay.outbox set ready = false, due_at = now() + interval '1 hour';
    insert into outlay.unauthorized_account (account_id, probe_at)
    select outlay.gateway_account(gateway, account_id), now() - case gateway when 'bank' then 2 else 1 end * interval '1 minute'
    from outlay.transfer`)
  await credentials.wakeProbes(['default'])
  const due = await rows('select outlay.transfer_of_job(id) as id from outlay.outbox where due_at <= clock_timestamp()')
  expect(due).toEqual([{ id }])
})
