import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('outlay transfers resolve', async () => {
  const host = await testHost()
  const { database } = host

  const run = (...args: string[]) => outlay(args, { DATABASE_URL: database.url })
  const resolve = (...args: string[]) => run('transfers', 'resolve', ...args)
  const verdict = async (id: string) => JSON.parse((await run('prove', id, '--json')).stdout).verdict

  /** A transfer whose one request got no answer for longer than a day. */
  async function block(): Promise<string> {
    const { id } = await host.enqueue()
    await host.pool.query(`select * from outlay.fetch_and_claim(10, 'gone', '', null)`)
    await host.pool.query(
      `update outlay.transfer set stage = 'blocked', reason = 'key_expired', unknown_since = now() - interval '25 hours',
         event_sequence = 2 where id = $1`,
      [id],
    )
    await host.pool.query(
      `insert into outlay.event (transfer_id, sequence, type, stage, status, reason, attempt)
       values ($1, 2, 'transfer.blocked', 'blocked', 'pending', 'key_expired', 1)`,
      [id],
    )
    await host.pool.query(`update outlay.attempt set claimed_at = now() - interval '25 hours' where transfer_id = $1`, [
      id,
    ])
    return id
  }

  it('records the id at the service, and the proof shows who gave it and why', async () => {
    const id = await block()
    expect(await verdict(id)).toMatchObject({ conclusion: 'unknown' })
    expect((await run('transfers', 'list', '--stuck')).stdout).toContain('outlay transfers resolve')
    expect((await run('doctor')).stdout).toContain('outlay transfers resolve')
    const done = await resolve(id, '--remote-id', 'r-1', '--unchecked', '--reason', 'ticket 4711', '--actor', 'ann')
    expect(done).toMatchObject({ code: 0 })
    expect(done.stdout).toContain(`${id}  blocked/pending (key_expired) → submitted/pending`)
    expect((await host.engine.audit.list({ transferId: id }))[0]?.after).toMatchObject({ unchecked: true })
    const proof = await run('prove', id)
    expect(proof.code).toBe(0)
    expect(proof.stdout).toContain('ONE EFFECT. An operator resolved it at')
    expect(proof.stdout).toContain('(resolve by ann). A person said that it is r-1. Reason: ticket 4711')
    const again = await resolve(id, '--not-paid')
    expect(again).toMatchObject({ code: 1, stdout: '' })
    expect(again.stderr).toContain('only a blocked one is resolved')
    const other = await block()
    expect((await resolve(other, '--remote-id', 'r-1', '--unchecked')).stderr).toContain(
      `The transfer ${id} of the account has the id r-1`,
    )
  })

  it('records that nothing was paid, after which it is resubmitted', async () => {
    const id = await block()
    expect((await run('transfers', 'cancel', id)).code).toBe(1)
    const done = await resolve(id, '--not-paid', '--reason', 'no such payment')
    expect(done.stdout).toContain('blocked/pending (key_expired) → settled/failed')
    const { conclusion, because } = await verdict(id)
    expect([conclusion, because.join(' ')]).toEqual(['no_effect', expect.stringContaining('no such payment')])
    expect((await run('transfers', 'resubmit', id)).code).toBe(0)
    // The answer came after all: money moved, and the proof must not hide it.
    await host.pool.query(`update outlay.attempt set outcome = 'accepted' where transfer_id = $1 and attempt = 1`, [id])
    expect(await run('prove', id)).toMatchObject({ code: 1, stdout: expect.stringContaining('CONTRADICTION') })
  })

  it('wants one of the two, and an id that can be one', async () => {
    const id = await block()
    for (const options of [[], ['--remote-id', 'r-1', '--not-paid']]) {
      const refused = await resolve(id, ...options)
      expect(refused).toMatchObject({ code: 2, stdout: '' })
      expect(refused.stderr).toContain('Give either --remote-id <id> or --not-paid.')
    }
    expect((await resolve(id, '--remote-id', 'r\n1', '--unchecked')).stderr).toContain('remoteId')
    expect((await resolve('01J0000000000000000000000Z', '--not-paid')).stderr).toContain('outlay transfers list')
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'blocked', attempt: 1 })
  })

  it('asks the service first, and refuses an id that is mistyped or that of another payout', async () => {
    const id = await block()
    const { request } = (await host.engine.transfers.get(id)) ?? expect.unreachable()
    const folder = await mkdtemp(join(tmpdir(), 'outlay-resolve-'))
    const file = join(folder, 'gateway.mjs')
    const at = new Date().toISOString()
    const made = { ...request, status: 'processing', failure: null, createdAt: at, updatedAt: at }
    const other = { ...made, amount: { value: '7.77', currency: request.amount.currency } }
    const known = { 'r-1': made, 'r-2': other }
    await writeFile(
      file,
      `const known = ${JSON.stringify(known)}
       export default {
         submit() { throw new Error('nothing is sent') },
         async get(account, remoteId) {
           const transfer = known[remoteId]
           return transfer && { remoteId, status: transfer.status, failure: null, transfer: { id: remoteId, ...transfer } }
         },
       }`,
    )
    const checked = (remoteId: string, ...more: string[]) =>
      resolve(id, '--remote-id', remoteId, '--gateway-module', file, ...more)
    expect((await resolve(id, '--remote-id', 'r-1')).stderr).toContain('--gateway-module <file>, or --unchecked')
    expect((await checked('r-7')).stderr).toContain('does not know the id r-7')
    expect((await checked('r-2')).stderr).toContain('7.77')
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'blocked', attempt: 1 })
    expect(await checked('r-1')).toMatchObject({ code: 0 })
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'r-1' })
    expect((await host.engine.audit.list({ transferId: id }))[0]?.after).not.toHaveProperty('unchecked')
    const second = await block()
    expect((await resolve(second, '--remote-id', 'r-2', '--gateway-module', file, '--unchecked')).code).toBe(0)
    // The second one got the id of the first one: the person moves the id back.
    const third = await block()
    expect((await resolve(third, '--remote-id', 'r-1', '--unchecked', '--instead-of', id)).code).toBe(0)
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'remote_id_taken' })
    expect(await verdict(id)).toMatchObject({ conclusion: 'contradiction' })
    expect((await run('doctor')).stdout).toContain('remote_id_taken')
    await rm(folder, { recursive: true })
  })
})
