import { Id, type StoredRequest } from '@outlay/core'
import type { ChangingTransfer, DecideChange, NewTransfer } from '@outlay/core/adapter'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { fetchJobs } from '../../test/queue.ts'
import { postgres } from '../backend.ts'
import { fillTokens } from '../database/statement.ts'
import { createAttemptStore } from '../dispatch/attempts.ts'
import { chunkSize } from '../enqueue/enqueue-chunks.ts'
import { resolveNames } from '../schema/database-names.ts'
import { withTraceContext } from './trace-contexts.ts'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const other = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00'

describe('trace contexts', async () => {
  const { pool, driver, commit } = await testHost()
  const backend = postgres({ driver })
  const attempts = createAttemptStore(driver, resolveNames({}).tokens)

  const transfer = (key?: string): NewTransfer => {
    const { accountId, ...request } = samplePayout('acme') as StoredRequest & { readonly accountId: string }
    const id = Id.generate(backend.runtime.clock, backend.runtime.random)
    const times = { notBefore: null, expiresAt: null }
    return { id, accountId, gateway: 'default', idempotencyKey: key ?? id, fingerprint: 'f', request, ...times }
  }
  const enqueue = async (transfers: readonly NewTransfer[], trace?: string) => {
    const enqueued = await commit((tx) => backend.enqueue(tx, transfers, trace, null, undefined))
    return enqueued === 'stale' || 'facts' in enqueued ? expect.unreachable() : enqueued
  }
  const kept = async () =>
    Object.fromEntries(
      (await pool.query('select transfer_id, traceparent from outlay.trace_context')).rows.map((row) => [
        row['transfer_id'],
        row['traceparent'],
      ]),
    )

  it('are kept with a transfer, in its transaction', async () => {
    const one = transfer()
    expect(await enqueue([one], traceparent)).toMatchObject([{ id: one.id, stage: 'queued', reused: false }])
    expect(await kept()).toEqual({ [one.id]: traceparent })
    const lost = new Error('The host changed its mind.')
    const failing = commit(async (tx) => {
      await backend.enqueue(tx, [transfer()], traceparent, null, undefined)
      throw lost
    })
    await expect(failing).rejects.toBe(lost)
    expect(await kept()).toEqual({ [one.id]: traceparent })
  })

  it('are not kept where there are none', async () => {
    await enqueue([transfer()])
    await enqueue([transfer(), transfer()])
    expect(await kept()).toEqual({})
  })

  it('stay those of the first enqueue when a key is used again', async () => {
    const one = transfer('key-1')
    await enqueue([one], traceparent)
    expect(await enqueue([transfer('key-1')], other)).toMatchObject([{ id: one.id, reused: true }])
    const [new1, new2] = [transfer(), transfer()]
    expect(await enqueue([new1, transfer('key-1'), new2], other)).toMatchObject([
      { id: new1.id, reused: false },
      { id: one.id, reused: true },
      { id: new2.id, reused: false },
    ])
    expect(await kept()).toEqual({ [one.id]: traceparent, [new1.id]: other, [new2.id]: other })
  })

  it('are kept for every transfer of a batch that needs several statements', async () => {
    const [used, ...batch] = Array.from({ length: 2 * chunkSize + 3 }, (_, n) => transfer(`key-${n}`))
    if (used === undefined) throw new Error('There is no transfer.')
    await enqueue([used], other)
    await enqueue([...batch, { ...used, id: transfer().id }], traceparent)
    const { [used.id]: first, ...rest } = await kept()
    expect(first).toBe(other)
    expect(rest).toEqual(Object.fromEntries(batch.map(({ id }) => [id, traceparent])))
  })

  it('are not kept when a batch is refused', async () => {
    await enqueue([transfer('key-1')])
    const mismatch = { ...transfer('key-1'), fingerprint: 'other' }
    await expect(enqueue([transfer(), mismatch], traceparent)).rejects.toMatchObject({
      code: 'idempotency_key_mismatch',
    })
    expect(await kept()).toEqual({})
  })

  it('are kept for a transfer of a batch', async () => {
    const batchId = '01J0000000000000000000000Y' as Id
    await pool.query('insert into outlay.batch (id) values ($1)', [batchId])
    const one = { ...transfer(), batchId }
    await enqueue([one], traceparent)
    expect(await kept()).toEqual({ [one.id]: traceparent })
  })

  it('are not kept for a transfer that its batch refuses', async () => {
    const refused = commit((tx) =>
      backend
        .enqueue(tx, [{ ...transfer(), batchId: '01J0000000000000000000000Z' as Id }], traceparent, null, undefined)
        .catch((error: unknown) => error),
    )
    expect(await refused).toMatchObject({ code: 'conflict', field: 'batchId' })
    expect(await kept()).toEqual({})
  })

  it('are handed out with claims to those who ask', async () => {
    const [one, two] = [transfer(), transfer()]
    const [{ createdAt } = { createdAt: '' }] = await enqueue([one], traceparent)
    await enqueue([two])
    const claims = await attempts.claim(await fetchJobs(pool, one.id, two.id), 'worker', { traced: true })
    const byId = new Map(claims.map((claim) => [claim.transferId, claim]))
    expect(byId.get(one.id)).toMatchObject({ attempt: 1, traceparent, createdAt })
    expect(byId.get(two.id)?.traceparent).toBeUndefined()
    const again = await attempts.claim(await fetchJobs(pool, one.id), 'worker')
    expect(again[0]).toMatchObject({ attempt: 2, transferId: one.id })
    expect(again[0]?.traceparent).toBeUndefined()
  })

  it('are none for an adopted transfer, and neither is the time of an enqueue', async () => {
    const [own, adopted] = [transfer(), transfer('adopted remote-2')]
    const [{ createdAt } = { createdAt: '' }] = await enqueue([own, adopted])
    const set = `update outlay.transfer set stage = 'submitted', remote_id = $2 where id = $1`
    for (const [index, { id }] of [own, adopted].entries()) await pool.query(set, [id, `remote-${index + 1}`])
    const origins = new Map<string, ChangingTransfer['origin']>()
    const decide: DecideChange = ({ origin }, { remoteId }) => void origins.set(remoteId, origin)
    const seen = ['remote-1', 'remote-2'].map((remoteId) => ({ remoteId, status: 'complete', failure: null }) as const)
    const rules = { decide, describe: () => undefined, returnWindowMs: () => undefined }
    await commit((tx) => backend.observe(tx, [{ account: 'acme', observations: seen }], rules))
    expect(Object.fromEntries(origins)).toEqual({
      'remote-1': { createdAt, transferType: 'ach_credit' },
      'remote-2': undefined,
    })
  })

  it('are read one by one, however many there are', async () => {
    await pool.query(
      `insert into outlay.trace_context select 'T' || n, $1 from generate_series(1, 50000) n on conflict do nothing`,
      [traceparent],
    )
    await pool.query('analyze outlay.trace_context')
    const text = withTraceContext('select * from {{schema}}.lease_due_polls(500, 1, array[]::text[])', 'id')
    const { rows } = await pool.query(`explain ${fillTokens(text, resolveNames({}).tokens)}`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('trace_context_pkey')
    expect(plan).not.toContain('Seq Scan')
  })
})
