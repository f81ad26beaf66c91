import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('several gateways', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })
  const second = memoryGateway({ status: 'processing' })
  const both = () =>
    createEngine({
      backend: postgres({ driver: host.driver }),
      gateways: { default: host.gateway, second },
      route: () => 'second',
    })
  const enqueueSecond = () =>
    host.commit((tx) =>
      both().transfers.enqueue(tx, {
        accountId: 'acme',
        amount: { value: '12.50', currency: 'USD' },
        source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
        destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
      }),
    )

  it('are shown with their transfers, and the doctor finds one that no worker has', async () => {
    const { id } = await enqueueSecond()
    await host.engine.start()
    await host.pool.query(`update outlay.transfer set updated_at = now() - interval '5 minutes'`)
    await host.pool.query(`update outlay.outbox set due_at = now() - interval '5 minutes'`)
    const list = (await run('transfers', 'list')).stdout
    expect(list).toMatch(/GATEWAY/)
    expect(list).toMatch(/acme\s+second/)
    expect((await run('transfers', 'list', '--gateway', 'default')).stdout).toContain('No transfer.')
    expect((await run('transfers', 'show', id)).stdout).toMatch(/gateway\s+second/)
    expect((await run('transfers', 'list', '--stuck')).stdout).toContain('waits for its gateway second')
    const { code, stdout } = await run('doctor')
    expect(code).toBe(1)
    expect(stdout).toMatch(/gateway_unattended\n.*1 transfer of the gateway "second", which no worker has/)
    const engine = both()
    await engine.start()
    await waitUntil(async () => (await host.engine.transfers.get(id))?.stage === 'submitted')
    expect((await run('doctor')).stdout).not.toContain('gateway_unattended')
    expect((await run('prove', id)).stdout).toMatch(/1\s+\S+\s+second/)
    await engine.stop()
  })

  it('are stopped by their names, and a name that no worker has had is refused', async () => {
    const engine = both()
    await engine.start()
    await waitUntil(async () => (await run('stop', '--gateway', 'second')).code === 0)
    expect((await engine.sending()).stops).toMatchObject([{ scope: 'gateway', name: 'second' }])
    expect((await run('stop', '--gateway', 'third')).stderr).toContain('there are "default", "second"')
    expect((await run('start-sending', '--gateway', 'second')).code).toBe(0)
    expect((await engine.sending()).stops).toEqual([])
    await engine.stop()
  })

  it('come from a module that exports them by name', async () => {
    const { id } = await enqueueSecond()
    await host.pool.query(`update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown' where id = $1`, [
      id,
    ])
    const file = join(await mkdtemp(join(tmpdir(), 'outlay-gateways-')), 'gateways.mjs')
    const gateway = (status: string) =>
      `{ submit() { throw new Error('nothing is sent') }, async get(_, remoteId) { return ${status === '' ? 'undefined' : `{ remoteId, status: '${status}', failure: null }`} } }`
    await writeFile(file, `export const gateways = { default: ${gateway('')}, second: ${gateway('processing')} }`)
    const resolved = await run('transfers', 'resolve', id, '--remote-id', 'r-1', '--gateway-module', file)
    expect(resolved).toMatchObject({ code: 0 })
    expect(await host.engine.transfers.get(id)).toMatchObject({ remoteId: 'r-1', gateway: 'second' })
  })
})
