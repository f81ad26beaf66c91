import type { Policy } from '@outlay/core'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { samplePayout } from '../../test/outbox.ts'
import { type HostShards, refusal, shardHost } from '../../test/shard-host.ts'
import { pgDriver } from '../drivers/pg.ts'

const note = { actor: 'petra', reason: 'decided' }
const all: Policy = { name: 'all', approvals: [{}] }
const odd: Policy = { name: 'odd', hold: 'check it' }

describe('policies over shards', async () => {
  const host = await shardHost()
  const { east, west } = host
  const dead = new pg.Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none' })
  afterAll(() => dead.end())
  const stageAt = async (on: HostShards, accountId: string) => {
    const request = samplePayout(accountId, { createdBy: 'carl' })
    return (await on.transaction(accountId, (tx) => on.transfers.enqueue(tx, request))).stage
  }

  it('are set on every node, with what each answers, and are the same then', async () => {
    const shards = await host.open()
    expect(await shards.policies.setAll([all], note)).toEqual({
      answers: { east: { version: 1 }, west: { version: 1 } },
      missing: [],
    })
    expect([await stageAt(shards, 'e-1'), await stageAt(shards, 'w-1')]).toEqual(['held', 'held'])
    expect(await shards.policies.compare()).toMatchObject({
      differ: false,
      groups: [{ nodes: ['east', 'west'], policies: [{ name: 'all' }] }],
      missing: [],
    })
    const { answers } = await shards.audit.list({ command: 'policies.set' })
    expect(Object.values(answers).map((entries) => entries[0]?.actor)).toEqual(['petra', 'petra'])
  })

  it('that differ are shown with their nodes, whatever their order', async () => {
    const shards = await host.open()
    const setAt = (pool: pg.Pool, policies: readonly Policy[]) =>
      pgDriver(pool).transaction((tx) => shards.policies.set(tx, policies, note))
    await setAt(east, [all, odd])
    await setAt(west, [odd, all])
    expect(await shards.policies.compare()).toMatchObject({ differ: false })
    await setAt(west, [odd])
    expect(await shards.policies.compare()).toMatchObject({
      differ: true,
      groups: [{ nodes: ['east'] }, { nodes: ['west'], policies: [{ name: 'odd' }] }],
    })
    expect(await shards.policies.setAll([], { ...note, clear: true })).toMatchObject({ missing: [] })
    expect(await shards.policies.compare()).toMatchObject({ differ: false, groups: [{ policies: [] }] })
  })

  it('are set on the nodes that answer, and the others are named', async () => {
    await host.open()
    const shards = host.make({
      nodes: { east: { driver: pgDriver(east) }, gone: { driver: pgDriver(dead) }, west: { driver: pgDriver(west) } },
    })
    const set = await shards.policies.setAll([odd], note)
    expect(Object.keys(set.answers)).toEqual(['east', 'west'])
    expect(set.missing).toMatchObject([{ node: 'gone', error: { code: 'node_unavailable' } }])
    const compared = await shards.policies.compare()
    expect(compared).toMatchObject({
      differ: false,
      groups: [{ nodes: ['east', 'west'] }],
      missing: [{ node: 'gone' }],
    })
  })

  it('about earlier transfers are set once every node that answers is prepared for them', async () => {
    await host.open()
    const shards = host.make({
      nodes: { east: { driver: pgDriver(east) }, gone: { driver: pgDriver(dead) }, west: { driver: pgDriver(west) } },
    })
    const alike: Policy = { name: 'alike', when: { lookalike: {} }, hold: 'paid twice?' }
    expect((await refusal(shards.policies.setAll([alike], note))).field).toBe('0.when.lookalike')
    for (const _ of ['once', 'again'])
      expect(await shards.policies.prepare()).toMatchObject({
        answers: { east: 'prepared', west: 'prepared' },
        missing: [{ node: 'gone', error: { code: 'node_unavailable' } }],
      })
    expect(Object.keys((await shards.policies.setAll([alike], note)).answers)).toEqual(['east', 'west'])
    await shards.policies.setAll([], { ...note, clear: true })
  })

  it('are refused as a whole where the list is wrong, and by node where somebody has set others meanwhile', async () => {
    const shards = await host.open()
    for (const [given, field] of [
      [() => shards.policies.setAll([], note), 'clear'],
      [() => shards.policies.setAll([{ ...odd, hold: '' }], note), '0.hold'],
      [() => shards.policies.setAll([odd], { ...note, actor: '' }), 'actor'],
      [() => shards.policies.setAll([odd], { ...note, expectedVersions: { north: 1 } }), 'expectedVersions.north'],
    ] as const)
      expect((await refusal(given())).field).toBe(field)
    const versions = async () =>
      Object.values((await shards.policies.get()).answers).map((version) => version?.version ?? 0)
    const [inEast = 0, inWest = 0] = await versions()
    const expectedVersions = { east: inEast, west: inWest + 1 }
    const set = await shards.policies.setAll([odd], { ...note, expectedVersions })
    expect(set).toMatchObject({ answers: { east: {} }, missing: [{ node: 'west', error: { code: 'conflict' } }] })
    expect(await versions()).toEqual([inEast + 1, inWest])
  })
})
