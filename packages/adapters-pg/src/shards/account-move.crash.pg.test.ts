import { drain, memoryGateway, spawnNode } from '@outlay/testing'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { samplePayout } from '../../test/outbox.ts'

const steps = [
  ...[
    'preparing',
    'leaving',
    'packing',
    'packed',
    'copying',
    'verified',
    'switched',
    'unpacking',
    'arrived',
    'clearing',
    'ended',
  ],
] as const
type Step = (typeof steps)[number]

/** Steps after which the route has been switched: the move only goes on. */
const isSwitched = (step: Step) => steps.indexOf(step) >= steps.indexOf('switched')

describe('a mover that is killed', async () => {
  const host = await moveHost()
  const { east, west, eastUrl, westUrl } = host
  const program = new URL('../../test/doomed-mover.ts', import.meta.url)
  beforeAll(async () => {
    for (const on of [east, west]) await on.query('create table if not exists handled (transfer_id text, type text)')
  })
  afterEach(async () => {
    for (const on of [east, west]) await on.query('truncate handled')
  })

  /** Kills a process that moves the account with SIGKILL at a step. */
  const kill = async (account: string, to: string, step: string) => {
    await using mover = await spawnNode(program, { args: [eastUrl, westUrl, eastUrl, account, to, step] })
    expect((await mover.ended).signal).toBe('SIGKILL')
  }
  /** Ten payouts before the move, then workers on both nodes, then a kill; then what the caller does; then everything is sent. */
  const run = async (step: string, kills: (account: string) => Promise<void>, end: 'east' | 'west') => {
    const gateway = memoryGateway({ idPrefix: step })
    const { shards, account } = await host.openAt({ engine: { gateway } })
    shards.subscribe('books', ['transfer.submitted', 'transfer.completed'], async ({ transferId, type }, tx) => {
      await tx.query('insert into handled values ($1, $2)', [transferId, type])
    })
    const keys = Array.from({ length: 10 }, (_, n) => `key-${n}`)
    const requests = keys.map((idempotencyKey) => samplePayout(account, { idempotencyKey }))
    const ids = (await shards.transaction(account, (tx) => shards.transfers.enqueueMany(tx, requests))).map(
      ({ id }) => id,
    )
    await shards.transaction(account, (tx) => shards.accounts.pause(tx, account))
    await shards.start()
    await kills(account)
    const between = await host.live(account)
    // Nobody can claim a transfer on two nodes.
    expect(between.east.filter((id) => between.west.includes(id))).toEqual([])

    const done = await shards.accounts.move(account, { to: end })
    expect(['moved', 'returned', 'there']).toContain(done.result)
    const after = await host.live(account)
    expect([after[end], after[end === 'east' ? 'west' : 'east']]).toEqual([ids.toSorted(), []])
    expect(await host.route.find(account)).toBe(end)
    expect(gateway.submissions).toEqual([])
    await shards.transaction(account, (tx) => shards.accounts.resume(tx, account))
    for (const key of keys) expect(ids).toContain((await payAt(shards, account, key)).id)
    await drain({ backlog: () => shards.backlog() })
    expect([gateway.submissions.length, gateway.transfers.size]).toEqual([10, 10])
    const events = []
    for (const on of [east, west]) events.push(...(await on.query('select * from handled')).rows)
    expect(events.map(({ transfer_id, type }) => `${transfer_id} ${type}`).toSorted()).toEqual(
      ids.flatMap((id) => [`${id} transfer.completed`, `${id} transfer.submitted`]).toSorted(),
    )
    for (const on of [east, west]) expect((await on.query('select from outlay.moved_row')).rows).toEqual([])
    const { rows } = await east.query('select state from outlay_directory.account_move where account_id = $1', [
      account,
    ])
    expect(rows).toEqual([{ state: end === 'east' ? 'returned' : 'done' }])
  }

  it.for(steps)('at the step "%s" goes on when it is called again, and nothing is lost or sent twice', async (step) => {
    await run(step, (account) => kill(account, 'west', step), 'west')
  })

  it.for(steps.filter((step) => !isSwitched(step)))(
    'at the step "%s" goes back when the account is moved to where it was',
    async (step) => {
      await run(step, (account) => kill(account, 'west', step), 'east')
    },
  )

  it('on its way back goes back, whoever is killed there, too', async () => {
    const kills = async (account: string) => {
      await kill(account, 'west', 'verified')
      await kill(account, 'east', 'returning')
      await kill(account, 'east', 'clearing')
    }
    await run('returning', kills, 'east')
  })
})
