import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import type pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { claimReady, sweepLimits } from '../../test/limit-claims.ts'
import { moveHost, payAt } from '../../test/move-host.ts'
import { samplePayout } from '../../test/outbox.ts'
import type { HostShards } from '../../test/shard-host.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { slice } from './account-move-run.ts'

describe('what is compared while a part of its account is on its way', async () => {
  const host = await moveHost()
  const { east, west } = host
  const rows = async (on: pg.Pool, text: string, ...values: unknown[]) => (await on.query(text, values)).rows
  const perSlice = slice.transfers
  afterEach(() => {
    slice.transfers = perSlice
  })
  /** The steps of a move as a mover calls them, one by one. */
  const stepsOf = (account: string) => {
    const call = async (text: string, ...values: unknown[]) =>
      (await rows(east, `select outlay.${text} as it`, account, ...values))[0]?.it
    return {
      depart: () => call(`move_depart($1, 'west', 7, null, null)`),
      pack: async (after: string, limit: number) =>
        (await rows(east, `select packed from outlay.move_pack($1, 7, $2, $3, true)`, account, after, limit))[0]
          ?.packed,
      packEnd: () => call('move_pack_end($1, 7)'),
      back: () => call(`move_back($1, 'east', 7, true)`),
      unpack: (limit: number) => call(`move_unpack($1, 7, 'returning', $2)`, limit),
      end: () => call(`move_end($1, 7, 'returning', 'here')`),
    }
  }

  describe('by limits on sums', () => {
    /** What a sweep releases and a claim gets on a node that is behind a limit. */
    const sent = async (on: pg.Pool) => [await sweepLimits(on), await claimReady(on)]
    /** Payouts that use 510 of 600, one of 100 that is held and the oldest, and one of 95 that is queued and the last. */
    const spend = async (shards: HostShards, account: string) => {
      const limits = [{ name: 'all', most: { USD: '600' }, span: 'month', zone: 'UTC', per: ['account'] }] as const
      for (const { driver } of shards.nodes)
        await driver.transaction((tx) => shards.limits.set(tx, limits, { actor: 'ann', reason: 'test' }))
      const pay = (idempotencyKey: string, value: string, notBefore?: string) =>
        samplePayout(account, { idempotencyKey, amount: { value, currency: 'USD' }, notBefore })
      const enqueue = (...requests: ReturnType<typeof pay>[]) =>
        shards.transaction(account, (tx) => shards.transfers.enqueueMany(tx, requests))
      const later = new Date(Date.now() + 3_600_000).toISOString()
      const [held] = await enqueue(pay('z-held', '100', later))
      await enqueue(...Array.from({ length: 510 }, (_, n) => pay(`p-${n}`, '1')))
      expect(await claimReady(east, 1_000)).toHaveLength(510)
      await rows(east, 'update outlay.transfer set not_before = null where id = $1', held?.id)
      await rows(east, `select from outlay.claim(array[$1], array[outlay.job_id($1)], 'slow', null)`, held?.id)
      expect(await rows(east, `select id from outlay.transfer where stage = 'held'`)).toEqual([{ id: held?.id }])
      await enqueue(pay('z-queued', '95'))
    }
    const used = async (on: pg.Pool) =>
      (await rows(on, 'select used::text as used from outlay.limit_use')).map((one) => Number(one.used))

    it('lets nothing pass while it leaves and while it goes back', async () => {
      const { shards, account } = await host.openAt()
      await spend(shards, account)
      const move = stepsOf(account)
      expect(await move.depart()).toBe('leaving')
      expect(await move.pack('', 500)).toBe(500)
      expect([await sent(east), await used(east)]).toEqual([[0, []], [510]])
      expect(await move.back()).toBe('returning')
      while ((await move.unpack(200)) > 0) expect([await sent(east), await used(east)]).toEqual([[0, []], [510]])
      expect(await move.end()).toBe(true)
      expect(await rows(east, `select from outlay.transfer where stage = 'held'`)).toHaveLength(2)
    })

    it('lets nothing pass while it arrives, and is counted there and no longer where it was', async () => {
      const { shards, account } = await host.openAt()
      await spend(shards, account)
      const onProgress = ({ step }: { readonly step: string }) => {
        if (step === 'unpacking') throw new Error('The mover ends here.')
      }
      const isOver = async () => (await rows(west, `select from outlay.transfer`)).length === 512
      while (!(await isOver())) {
        const move = shards.accounts.move(account, { to: 'west', attemptsMs: 1, onProgress })
        await expect(move).rejects.toThrow('ends here')
        expect(await sent(west)).toEqual([0, []])
      }
      expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 512 })
      expect([await sent(west), await used(west), await used(east)]).toEqual([[0, []], [510], [0]])
      expect(await rows(west, `select from outlay.transfer where stage = 'held'`)).toHaveLength(2)
    })
  })

  it('with transfers that it looks like waits until all of them are here', async () => {
    await createEngine({
      backend: postgres({ driver: pgDriver(east) }),
      gateway: memoryGateway(),
    }).policies.prepare()
    const { shards, account } = await host.openAt()
    const first = await payAt(shards, account, 'a')
    const second = await payAt(shards, account, 'b')
    await rows(
      east,
      `insert into outlay.payment_watch (transfer_id, policy, policy_version, name, why, days, currencies)
       values ($1, 'alike', 1, 'limit', 'paid twice?', 3, '{USD}')`,
      second.id,
    )
    const compare = async () =>
      (
        await rows(
          east,
          `select held, busy from outlay.hold_lookalikes(array[$1], array[outlay.job_id($1)], '{}')`,
          second.id,
        )
      )[0]
    const move = stepsOf(account)
    await move.depart()
    expect(await move.pack('', 1)).toBe(1)
    expect(await claimReady(east)).toEqual([])
    expect(await rows(east, 'select transfer_id from outlay.payment_watch')).toEqual([{ transfer_id: second.id }])
    await move.back()
    expect(await compare()).toEqual({ held: [], busy: [second.id] })
    while ((await move.unpack(1)) > 0);
    expect(await move.end()).toBe(true)
    expect((await host.live(account)).east).toEqual([first.id, second.id])
    // As where a person moves the account by hand, and waits for what is left.
    await rows(east, `update outlay.departed_account set state = 'departed'`)
    expect(await compare()).toEqual({ held: [second.id], busy: [] })
  })

  describe('by ids at the service', () => {
    const accept = `update outlay.transfer set stage = 'submitted', status = 'processing', remote_id = 'X', updated_at = clock_timestamp()`
    /** Two payouts, of which the first has an id at the service. */
    const two = async () => {
      const { shards, account } = await host.openAt()
      const [first, second] = [await payAt(shards, account, 'a'), await payAt(shards, account, 'b')]
      await rows(east, `${accept} where id = $1`, first.id)
      return { shards, account, first: first.id, second: second.id }
    }
    const states = (on: pg.Pool) =>
      rows(on, 'select id, stage, status, remote_id, reason from outlay.transfer order by id')
    const parted = (first: string, second: string) => [
      { id: first, stage: 'submitted', status: 'processing', remote_id: 'X', reason: null },
      { id: second, stage: 'blocked', status: 'pending', remote_id: null, reason: 'remote_id_taken' },
    ]

    it('moves where one was accepted under the id of another that was packed, and blocks the later one', async () => {
      const { shards, account, first, second } = await two()
      slice.transfers = 1
      await rows(
        east,
        `create function accept_second() returns trigger language plpgsql as $$
         begin ${accept} where id = '${second}'; return null; end $$;
         create trigger accept_second after insert on outlay.moved_row for each row
         when (new.kind = 'transfer' and new.key = '${first}') execute function accept_second()`,
      )
      try {
        expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 2 })
      } finally {
        await rows(east, 'drop trigger accept_second on outlay.moved_row; drop function accept_second()')
      }
      expect(await states(west)).toEqual(parted(first, second))
      const said = await rows(west, 'select outcome, detail from outlay.attempt where transfer_id = $1', second)
      expect(said).toEqual([{ outcome: 'id_taken', detail: expect.stringContaining(`the transfer ${first} of`) }])
      const events = await rows(west, 'select type from outlay.event where transfer_id = $1 order by sequence', second)
      expect(events.at(-1)).toEqual({ type: 'transfer.blocked' })
    })

    it.each([1, 2])('goes back after %i of the two were packed, and blocks the later one', async (packed) => {
      const { account, first, second } = await two()
      const move = stepsOf(account)
      await move.depart()
      expect(await move.pack('', 1)).toBe(1)
      await rows(east, `${accept} where id = $1`, second)
      if (packed === 2) expect(await move.pack('', 1)).toBe(1)
      expect(await move.back()).toBe('returning')
      while ((await move.unpack(1)) > 0);
      expect([await move.end(), await states(east)]).toEqual([true, parted(first, second)])
    })

    it('gives nobody by hand the id of one that is packed', async () => {
      const { account, first, second } = await two()
      const move = stepsOf(account)
      await move.depart()
      await move.pack('', 1)
      await rows(
        east,
        `update outlay.transfer set stage = 'blocked', attempt = 1, unknown_since = now() where id = $1`,
        second,
      )
      const [answer] = await rows(east, `select outlay.resolve($1, 'X', 'seen', 'ann', null) as it`, second)
      expect(answer).toEqual({ it: first })
    })
  })
})
