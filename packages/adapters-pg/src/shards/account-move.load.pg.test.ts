import { OutlayError } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { refusal } from '../../test/shard-host.ts'

describe('a move under load', async () => {
  const host = await moveHost()
  const { east, west } = host
  beforeEach(async () => {
    for (const on of [east, west])
      await on.query('create table if not exists handled (transfer_id text, type text); truncate handled')
  })
  const handled = async () => {
    const all = await Promise.all([east, west].map(async (on) => (await on.query('select * from handled')).rows))
    return all.flat().map(({ transfer_id, type }) => `${transfer_id} ${type}`)
  }
  const stateOf = async (account: string) => {
    const { rows } = await east.query('select state from outlay.departed_account where account_id = $1', [account])
    return rows[0]?.state
  }

  it('loses nothing, sends nothing twice, delivers each event once, and refuses nothing of other accounts', async () => {
    const gateway = memoryGateway({ idPrefix: 'load' })
    const { shards, account } = await host.openAt({ engine: { gateway } })
    const other = `other-${account}`
    await host.route.assign(other, 'east')
    shards.subscribe('books', ['transfer.submitted', 'transfer.completed'], async ({ transferId, type }, tx) => {
      await tx.query('insert into handled values ($1, $2)', [transferId, type])
    })
    const ids = new Map<string, string>()
    const codes = new Set<string>()
    let isOver = false
    const write = async (accountId: string, writer: string) => {
      for (let n = 0; !isOver || n < 20; n += 1) {
        const key = `${writer}-${n}`
        try {
          ids.set(`${accountId} ${key}`, (await payAt(shards, accountId, key)).id)
        } catch (error) {
          if (accountId === other || !OutlayError.is(error)) throw error
          codes.add(error.code)
          n -= 1
          await new Promise(setImmediate)
        }
      }
    }
    await shards.start()
    const writers = [...['a', 'b', 'c'].map((one) => write(account, one)), write(other, 'd')]
    await waitUntil(() => ids.size > 40)
    for (const to of ['west', 'east', 'west'] as const) {
      const before = ids.size
      const moved = await shards.accounts.move(account, { to })
      expect(moved).toMatchObject({ result: 'moved', to })
      expect(moved.pauseMs).toBeGreaterThan(0)
      await waitUntil(() => ids.size > before + 10)
    }
    isOver = true
    await Promise.all(writers)
    await drain({ backlog: () => shards.backlog() })
    expect([...codes].filter((code) => !['account_moving', 'wrong_node'].includes(code))).toEqual([])
    const all = [...ids.values()]
    expect([new Set(all).size, gateway.transfers.size]).toEqual([ids.size, ids.size])
    expect((await handled()).toSorted()).toEqual(
      all.flatMap((id) => [`${id} transfer.completed`, `${id} transfer.submitted`]).toSorted(),
    )
    const live = await host.live(account)
    expect([live.east, live.west.length]).toEqual([
      [],
      [...ids.keys()].filter((key) => key.startsWith(`${account} `)).length,
    ])
  })

  it('waits for a transaction of the host that began before, and takes what that enqueued', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'committed')
    const client = await east.connect()
    await client.query('begin')
    await shards.transfers.enqueue(client, samplePayout(account, { idempotencyKey: 'open' }))
    const { id: batchId } = await shards.batches.create(client, { accountId: account })
    // A statement with values keeps its snapshot, for which the move waits before it begins, until the next statement.
    await client.query('select 1')
    let isMoved = false
    const moving = shards.accounts.move(account, { to: 'west', waitMs: 60_000 }).finally(() => {
      isMoved = true
    })
    await waitUntil(async () => (await stateOf(account)) === 'leaving')
    // What it enqueues from now on is refused, in a transaction that goes on.
    const late = samplePayout(account, { idempotencyKey: 'late' })
    const inBatch = { ...late, batchId }
    expect((await refusal(shards.transfers.enqueue(client, inBatch))).code).toBe('account_moving')
    expect((await refusal(shards.transfers.enqueue(client, late))).code).toBe('account_moving')
    expect((await refusal(shards.transfers.enqueueMany(client, [late, late]))).code).toBe('account_moving')
    expect((await refusal(payAt(shards, account, 'other'))).code).toBe('account_moving')
    expect([isMoved, (await host.live(account)).east.length]).toEqual([false, 1])
    await client.query('commit')
    client.release()
    expect(await moving).toMatchObject({ result: 'moved', transfers: 2 })
    expect(await host.live(account)).toMatchObject({ east: [], west: { length: 2 } })
  })

  it('waits for a transaction that has only asked whether it may write, and for a snapshot from before', async () => {
    for (const begin of ['begin', 'begin isolation level repeatable read']) {
      const { shards, account } = await host.openAt()
      const client = await east.connect()
      await client.query(begin)
      await client.query(`select outlay.node_refusal('east', 'anybody')`)
      const error = await refusal(shards.accounts.move(account, { to: 'west', waitMs: 300, actor: 'anna' }))
      const { rows } = await client.query('select pg_backend_pid() as pid')
      expect([error.code, error.message]).toEqual(['conflict', expect.stringContaining(`database: ${rows[0].pid})`)])
      // It went back, and the account goes on where it was.
      await client.query('rollback')
      client.release()
      await payAt(shards, account, 'after')
      expect([await stateOf(account), (await host.live(account)).east.length]).toEqual(['here', 1])
      expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 1 })
    }
  })

  it('pauses no account for a snapshot that lasts, such as that of a dump', async () => {
    const { shards, account } = await host.openAt()
    const client = await east.connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select 1')
    const steps = new Set<string>()
    const onProgress = ({ step }: { readonly step: string }) => steps.add(step)
    const error = await refusal(shards.accounts.move(account, { to: 'west', waitMs: 300, onProgress }))
    await client.query('rollback')
    client.release()
    expect([error.code, error.field, steps.has('leaving')]).toEqual(['conflict', 'waitMs', false])
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved' })
  })

  it('moves a transfer whose request is on its way, which is asked about with its key and takes effect once', async () => {
    const gateway = memoryGateway({ idPrefix: 'doubt' })
    const { shards, account } = await host.openAt({ engine: { gateway } })
    const answer = Promise.withResolvers<void>()
    gateway.scriptAfter(async () => {
      if (gateway.submissions.length === 1) await answer.promise
      return undefined
    })
    const { id } = await payAt(shards, account, 'slow')
    await shards.start()
    await waitUntil(() => gateway.submissions.length === 1)
    const moved = await shards.accounts.move(account, { to: 'west', attemptsMs: 1 })
    expect(moved).toMatchObject({ result: 'moved', transfers: 1 })
    const { rows } = await west.query('select stage, attempt from outlay.transfer where id = $1', [id])
    expect(rows).toEqual([{ stage: 'submitting', attempt: 1 }])
    // The first worker's answer is of nobody there any more.
    answer.resolve()
    // It would wait for the heartbeat of the first worker.
    await west.query('update outlay.outbox set due_at = clock_timestamp(), ready = true')
    await drain({ backlog: () => shards.backlog() })
    expect(new Set(gateway.submissions.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
    expect([gateway.submissions.length, gateway.transfers.size]).toEqual([2, 1])
    const attempts = await west.query('select attempt from outlay.attempt where transfer_id = $1 order by 1', [id])
    expect(attempts.rows.map(({ attempt }) => attempt)).toEqual([1, 2])
  })

  it('lets one of two movers win, and goes back by the signal', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'one')
    const stopped = new AbortController()
    const aborted = shards.accounts.move(account, {
      to: 'west',
      signal: stopped.signal,
      onProgress: ({ step }) => step === 'packing' && stopped.abort(),
    })
    expect((await refusal(aborted)).code).toBe('aborted')
    expect((await host.live(account)).east.length).toBe(1)
    const both = await Promise.allSettled([
      shards.accounts.move(account, { to: 'west' }),
      host.make({ route: host.otherRoute() }).accounts.move(account, { to: 'west' }),
    ])
    const results = both.map((one) => (one.status === 'fulfilled' ? one.value.result : one.reason.code))
    expect(results.toSorted()).toEqual(['moved', 'there'])
    expect(await host.live(account)).toMatchObject({ east: [], west: { length: 1 } })
  })

  it('is safe with two movers at once whose lock is lost', async () => {
    const { route } = host
    const unlocked = {
      find: route.find,
      forget: route.forget,
      moves: { ...route.moves, alone: async <T>(_: string, work: () => Promise<T>) => ({ value: await work() }) },
    }
    const { shards, account } = await host.openAt({ route: unlocked })
    const requests = Array.from({ length: 1_200 }, (_, n) => samplePayout(account, { idempotencyKey: `key-${n}` }))
    await shards.transaction(account, (tx) => shards.transfers.enqueueMany(tx, requests))
    for (const [to, other] of [
      ['west', 'east'],
      ['east', 'west'],
    ] as const) {
      const both = await Promise.allSettled(
        [shards, host.make({ route: unlocked })].map((on) => on.accounts.move(account, { to })),
      )
      const results = both.map((one) => (one.status === 'fulfilled' ? one.value.result : one.reason.code))
      for (const result of results) expect(['moved', 'there', 'conflict']).toContain(result)
      await shards.accounts.move(account, { to })
      const live = await host.live(account)
      expect([live[to].length, live[other]]).toEqual([1_200, []])
      for (const on of [east, west]) expect((await on.query('select from outlay.moved_row')).rows).toEqual([])
    }
  })
})
