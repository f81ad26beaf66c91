import { fileURLToPath } from 'node:url'
import type { SeededClient } from '@outlay/service/sandbox'
import { type Program, spawnNode, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { describe, expect, it, onTestFailed } from 'vitest'
import { migrateHost } from './host.ts'
import { openStageHost, seedClient, setStage, settleAll } from './stage.ts'

const entry = fileURLToPath(new URL('../../packages/service/dist/sandbox/main.js', import.meta.url))

describe('the service killed with SIGKILL under load, twice', async () => {
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase({ role: 'ordinary' })

  it('keeps every answer that it gave, and no payout is lost or made twice', async () => {
    const env = { DATABASE_URL: await services.another(), PORT: '0' }
    let program: Program = await spawnNode(entry, { env: { ...env, SEED: JSON.stringify([seedClient]) } })
    onTestFailed(() => console.error(program.stderr()))
    const { url, clients } = program.ready as { readonly url: string; readonly clients: readonly [SeededClient] }
    const stage = await setStage(url, clients[0])
    const host = openStageHost(stage, await hosts.another(), url)
    await host.engine.start({ concurrency: 30 })
    const count = 400
    await host.transaction((tx) =>
      host.engine.transfers.enqueueMany(
        tx,
        Array.from({ length: count }, () => stage.payout()),
      ),
    )
    for (const share of [0.2, 0.6]) {
      await waitUntil(
        async () => {
          const { submitted, settled } = await host.engine.backlog()
          return submitted + settled > count * share
        },
        { timeoutMs: 60_000 },
      )
      await program.kill('SIGKILL')
      program = await spawnNode(entry, { env: { ...env, PORT: new URL(url).port } })
    }
    const { host: stored, service, effects } = await settleAll(stage, host, 90_000)
    expect(service).toHaveLength(count)
    expect(stored.every(({ status }) => status === 'complete')).toBe(true)
    expect(stored.map(({ remoteId }) => remoteId).toSorted()).toEqual(service.map(({ id }) => id).toSorted())
    expect(effects.map(({ transfer_id }) => transfer_id)).toEqual(stored.map(({ id }) => id))
    expect(Number(await stage.balance())).toBe(1_000_000 - count * 12.5)
    await host.close()
    await stage.client.close()
    await program.stop()
  })
})
