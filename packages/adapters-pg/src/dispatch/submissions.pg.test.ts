import type { Gateway } from '@outlay/core'
import { drain, type MemoryGateway, memoryGateway, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testHost } from '../../test/host.ts'
import { emptyOutbox, samplePayout } from '../../test/outbox.ts'
import { loseJobs } from '../../test/queue.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

const lost = { outcome: 'unknown', detail: 'reset' } as const

describe('a submission', async () => {
  const { database, pool, driver, open, commit, enqueue, outcomes } = await testHost()

  function make(gateway: MemoryGateway & Gateway = memoryGateway(), on = pool) {
    const engine = open({ gateway, driver: pgDriver(on), fraction: 0.001 })
    return { engine, gateway }
  }
  /** A gateway whose accounts send as the client in `client.now`. */
  function makeClients(now: string) {
    const client = { now }
    const gateway = memoryGateway()
    return { client, gateway: { ...gateway, identify: async () => client.now } }
  }
  const read = async (id: string, on = pool) =>
    (await on.query('select * from outlay.transfer where id = $1', [id])).rows[0]
  const keyOf = async (...parts: readonly string[]): Promise<string> =>
    (await pool.query('select outlay.submission_key($1, $2, $3) as key', [...parts])).rows[0].key

  describe('has a key that', () => {
    it('is a UUID made of all that makes the host’s key unique, and of nothing else', async () => {
      const parts = [
        ['transfer', 'acme', 'inv-7'],
        ['registration', 'acme', 'inv-7'],
        ['transfer', 'acme', 'inv-8'],
        ['transfer', 'acmei', 'nv-7'],
        ['transfer', 'acme5:inv-7', ''],
        ['transfer', 'acm', 'einv-7'],
        ['transfer', 'äcme', 'inv-7'],
      ]
      const keys = await Promise.all(parts.map((one) => keyOf(...one)))
      expect(new Set(keys).size).toBe(parts.length)
      for (const key of keys)
        expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      // The key must never change: the service would treat another one as new.
      expect(keys[0]).toBe('93a7dd9a-09af-81ab-abfe-bb305d8201f6')
    })

    it('is one of two accounts’ own, although their hosts use the same, and stays the same on every attempt', async () => {
      const { engine, gateway } = make()
      gateway.scriptAfter(({ attempt }) => (attempt < 3 ? lost : undefined))
      const ours = await enqueue(engine, { idempotencyKey: 'inv-7' })
      const theirs = await enqueue(engine, { accountId: 'globex', idempotencyKey: 'inv-7' })
      await engine.start()
      await drain(engine)
      const sent = (id: string) => [
        ...new Set(gateway.submissions.filter((one) => one.transferId === id).map((one) => one.idempotencyKey)),
      ]
      expect(sent(ours.id)).toEqual([await keyOf('transfer', 'acme', 'inv-7')])
      expect(sent(theirs.id)).toEqual([await keyOf('transfer', 'globex', 'inv-7')])
      expect(gateway.submissions).toHaveLength(6)
      expect((await read(ours.id)).submission_key).toBe(sent(ours.id)[0])
    })

    it('is the same again after the database was restored to a time before the enqueue', async () => {
      const { engine, gateway } = make()
      await engine.start()
      await enqueue(engine, { idempotencyKey: 'inv-7' })
      await drain(engine)
      await emptyOutbox(pool)
      const { id } = await enqueue(engine, { idempotencyKey: 'inv-7' })
      await drain(engine)
      expect(new Set(gateway.submissions.map((one) => one.idempotencyKey)).size).toBe(1)
      expect(gateway.transfers.size).toBe(1)
      expect(await read(id)).toMatchObject({ remote_id: 'remote-1' })
    })

    it('is not made of one in quotes, which is another one here and the same there', async () => {
      const { engine } = make()
      await expect(enqueue(engine, { idempotencyKey: '"inv-7"' })).rejects.toMatchObject({
        code: 'idempotency_key_invalid',
        field: 'idempotencyKey',
      })
    })

    it('is written before the request leaves', async () => {
      const { engine, gateway } = make()
      const stored: unknown[] = []
      gateway.script(async ({ transferId }) => {
        stored.push((await read(transferId)).submission_key)
        return undefined
      })
      const { id } = await enqueue(engine)
      expect((await read(id)).submission_key).toBeNull()
      await engine.start()
      await drain(engine)
      expect(stored).toEqual([gateway.submissions[0]?.idempotencyKey])
    })

    it('is the host’s own where earlier code sent that', async () => {
      const other = new pg.Pool({ connectionString: await database.another() })
      onTestFinished(() => other.end())
      const rows = [
        ['01J000000000000000000000A1', 'sent', 1, 'queued', 'now()'],
        ['01J000000000000000000000A2', '"quoted"', 2, 'queued', 'now()'],
        ['01J000000000000000000000A3', 'on its way', 1, 'submitting', 'null'],
        ['01J000000000000000000000A4', 'not sent', 0, 'queued', 'null'],
      ] as const
      const { accountId: _, ...request } = samplePayout('acme')
      for (const [id, key, attempt, stage, since] of rows) {
        const text = `insert into outlay.transfer (id, account_id, idempotency_key, fingerprint, request, stage, attempt, unknown_since)
          values ($1, 'acme', $2, 'f', $3, $4, $5, ${since})`
        await other.query(text, [id, key, request, stage, attempt])
        for (let one = 1; one <= attempt; one += 1)
          await other.query(`insert into outlay.attempt (transfer_id, attempt, worker) values ($1, $2, 'w')`, [id, one])
      }
      const { gateway } = makeClients('ours')
      const { engine } = make(gateway, other)
      await engine.start()
      await other.query(`update outlay.transfer set updated_at = now() - interval '1 minute'`)
      await waitUntil(() => gateway.transfers.size === 4, { timeoutMs: 60_000 })
      const sent = new Map(gateway.submissions.map((one) => [one.transferId, one.idempotencyKey]))
      expect(rows.map(([id]) => sent.get(id))).toEqual([
        ...['sent', '"quoted"', 'on its way'],
        await keyOf('transfer', 'acme', 'not sent'),
      ])
      await drain(engine)
      expect(await read(rows[0][0], other)).toMatchObject({ submission_key: null, client: 'ours', status: 'complete' })
    })
  })

  describe('has a client that', () => {
    it('is on record before the first request leaves, and asks the database once for each account', async () => {
      const { gateway } = makeClients('ours')
      const stored: unknown[] = []
      gateway.script(async ({ transferId, client }) => {
        stored.push([client, (await read(transferId)).client])
        return undefined
      })
      const backend = postgres({ driver })
      const engine = open({ gateway, backend, fraction: 0.001 })
      const recorded: string[] = []
      const recordClient = backend.recordClient
      Object.assign(backend, {
        recordClient: (claim: Parameters<typeof recordClient>[0], client: string) => {
          recorded.push(claim.transferId)
          return recordClient(claim, client)
        },
      })
      await enqueue(engine)
      await engine.start()
      await drain(engine)
      for (let one = 0; one < 20; one += 1) await enqueue(engine)
      await drain(engine)
      expect(stored).toEqual(Array.from({ length: 21 }, () => ['ours', 'ours']))
      expect(recorded).toHaveLength(1)
    })

    it('may change between two transfers, and between two answers that leave nothing unknown', async () => {
      const { client, gateway } = makeClients('old')
      gateway.script(({ attempt }) => {
        if (attempt > 1) return undefined
        client.now = 'new'
        return { outcome: 'throttled', detail: '429', httpStatus: 429 }
      })
      const { engine } = make(gateway)
      const { id } = await enqueue(engine)
      await engine.start()
      await drain(engine)
      expect(gateway.submissions.map((one) => one.client)).toEqual(['old', 'new'])
      expect(await read(id)).toMatchObject({ client: 'new', status: 'complete' })
    })

    it('does not change while an outcome is unknown, and is the first one again as soon as that is back', async () => {
      const { client, gateway } = makeClients('old')
      gateway.scriptAfter(({ attempt }) => {
        if (attempt > 1) return undefined
        client.now = 'new'
        return lost
      })
      const { engine } = make(gateway)
      const { id } = await enqueue(engine)
      await engine.start()
      await waitUntil(async () => (await read(id)).reason === 'client_changed')
      expect(await read(id)).toMatchObject({ stage: 'queued', client: 'old' })
      expect(gateway.submissions).toHaveLength(1)
      expect((await outcomes(id)).at(-1).detail).toMatch(/^not sent: .* left as "old"; the account now sends as "new"/)
      // Another transfer of the account does not wait for it.
      const other = await enqueue(engine)
      await waitUntil(async () => (await read(other.id)).status === 'complete')
      expect(await read(other.id)).toMatchObject({ client: 'new' })
      client.now = 'old'
      await commit((tx) => engine.transfers.release(tx, id))
      await drain(engine)
      expect(gateway.submissions.filter((one) => one.transferId === id).map((one) => one.client)).toEqual([
        'old',
        'old',
      ])
      expect(gateway.transfers.size).toBe(2)
    })

    it('is a person’s to decide about after 24 hours when it changed', async () => {
      const { gateway } = makeClients('new')
      const { engine } = make({ ...gateway, keyLifetimeMs: 20 * 24 * 3_600_000 })
      const { id } = await enqueue(engine)
      await pool.query(
        `update outlay.transfer set attempt = 1, client = 'old', unknown_since = now() - interval '25 hours', submission_key = 'k'`,
      )
      await engine.start()
      await waitUntil(async () => (await read(id)).stage === 'blocked')
      await drain(engine)
      expect(gateway.submissions).toEqual([])
      expect(await read(id)).toMatchObject({ reason: 'outcome_unknown', client: 'old' })
    })

    it('delays no transfer whose worker died before the client was on record: nothing had left', async () => {
      const { gateway } = makeClients('ours')
      const { engine } = make(gateway)
      const { id } = await enqueue(engine)
      await pool.query(`select * from outlay.fetch_and_claim(1, 'a worker that dies', null, null)`)
      expect(await read(id)).toMatchObject({ stage: 'submitting', client: null })
      await loseJobs(pool)
      await engine.start()
      await drain(engine)
      expect(await read(id)).toMatchObject({ status: 'complete', client: 'ours', attempt: 2 })
    })

    it('cannot be recorded for a claim that is not the current one, nor over that of an unknown outcome', async () => {
      const backend = postgres({ driver })
      const { engine } = make()
      const { id } = await enqueue(engine)
      await pool.query(`select * from outlay.fetch_and_claim(1, 'w', null, null)`)
      expect(await backend.recordClient({ transferId: id, attempt: 2 }, 'x')).toBe(false)
      expect(await backend.recordClient({ transferId: id, attempt: 1 }, 'x')).toBe(true)
      await pool.query('update outlay.transfer set unknown_since = now()')
      expect(await backend.recordClient({ transferId: id, attempt: 1 }, 'y')).toBe(false)
      expect(await read(id)).toMatchObject({ client: 'x' })
      await pool.query('update outlay.transfer set unknown_since = null')
      // The call does not wait for the holder of the row.
      await commit(async (tx) => {
        await tx.query('select from outlay.transfer for update')
        expect(await backend.recordClient({ transferId: id, attempt: 1 }, 'z')).toBe(false)
      })
    })
  })
})
