import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryGateway, startPostgres, waitUntil } from '@outlay/testing'
import { afterAll, describe, expect, it } from 'vitest'
import { enqueueAt, freeze, type HostShards, refusal, shardHost } from '../../test/shard-host.ts'

/** Settles when the events of as many transfers as are awaited have come. */
function completions(shards: HostShards) {
  const seen = new Set<string>()
  shards.subscribe('seen', ['transfer.completed'], async (event) => void seen.add(event.transferId))
  return (id: string) => waitUntil(() => seen.has(id), { timeoutMs: 60_000, describe: `the event of ${id}` })
}

describe('a node whose server is frozen', async () => {
  const host = await shardHost()

  it('keeps nobody of the others waiting, is named in what is read of all, and goes on when it thaws', async () => {
    const shards = await host.open({ engine: { gateway: memoryGateway({ idPrefix: randomUUID() }) } })
    const completed = completions(shards)
    await shards.start()
    const first = await enqueueAt(shards, 'w-1')
    await completed(first.id)
    const thaw = await freeze(host.westUrl)
    try {
      // Enqueue, dispatch and events of the other, to their ends, while this one is frozen.
      const other = await enqueueAt(shards, 'e-1')
      await completed(other.id)
      const page = await shards.transfers.find({})
      expect(page.transfers.map(({ id }) => id)).toEqual([other.id])
      expect(page.missing[0]?.error).toMatchObject({ code: 'node_unavailable' })
      expect(await shards.transfers.get(other.id)).toMatchObject({ id: other.id })
      expect((await refusal(shards.transfers.get(first.id))).code).toBe('node_unavailable')
      const backlog = await shards.backlog()
      expect([backlog.settled, backlog.missing.map(({ node }) => node)]).toEqual([1, ['west']])
      await shards.check()
      expect(Object.keys((await shards.health()).answers)).toEqual(['east'])
    } finally {
      await thaw()
    }
    await completed((await enqueueAt(shards, 'w-2')).id)
    expect((await shards.transfers.find({})).missing).toEqual([])
  })
})

describe('a node whose server is gone', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'outlay-shard-'))
  // The server runs as another user than root.
  await chmod(dataDir, 0o755)
  afterAll(() => rm(dataDir, { recursive: true, force: true }))
  const data = join(dataDir, 'data')
  const host = await shardHost(data)
  let server = host.server
  afterAll(() => server.stop())

  it('is started when it is back, and what waits there is sent then', async () => {
    const shards = await host.open({ engine: { gateway: memoryGateway({ idPrefix: randomUUID() }) } })
    const completed = completions(shards)
    const waiting = await enqueueAt(shards, 'w-1')
    const { port } = server
    await server.stop()
    // A start while it is gone: the others run.
    await shards.start()
    expect(shards.workers().phase).toBe('running')
    const other = await enqueueAt(shards, 'e-1')
    await completed(other.id)
    await expect(enqueueAt(shards, 'w-1')).rejects.toThrow()
    expect((await shards.transfers.find({})).missing).toMatchObject([
      { node: 'west', error: { code: 'node_unavailable' } },
    ])
    server = await startPostgres({ provider: 'embedded', durable: false, dataDir: data, port })
    await completed(waiting.id)
    // And gone under running workers.
    await server.restart({ mode: 'immediate' })
    await completed((await enqueueAt(shards, 'e-2')).id)
    const after = await waitUntil(() => enqueueAt(shards, 'w-3').catch(() => undefined), { timeoutMs: 60_000 })
    await completed(after.id)
  })
})
