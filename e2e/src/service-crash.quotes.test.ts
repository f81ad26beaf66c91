import { fileURLToPath } from 'node:url'
import type { Quote } from '@outlay/core'
import type { SeededClient } from '@outlay/service/sandbox'
import { type Program, spawnNode, usBankAccount, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { describe, expect, it, onTestFailed } from 'vitest'
import { migrateHost } from './host.ts'
import { openStageHost, seedClient, setStage, settleAll } from './stage.ts'

const entry = fileURLToPath(new URL('../../packages/service/dist/sandbox/main.js', import.meta.url))

describe('the service killed with SIGKILL while it pays with quotes, twice', async () => {
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase({ role: 'ordinary' })

  it('uses each quote for one transfer, and takes and gives what the quotes say', async () => {
    const env = { DATABASE_URL: await services.another(), PORT: '0' }
    let program: Program = await spawnNode(entry, { env: { ...env, SEED: JSON.stringify([seedClient]) } })
    onTestFailed(() => console.error(program.stderr()))
    const { url, clients } = program.ready as { readonly url: string; readonly clients: readonly [SeededClient] }
    const stage = await setStage(url, clients[0])
    const { client, accountId } = stage
    const clabe = { ...usBankAccount, accountNumber: '032180000118359719', transferTypes: ['spei'] }
    const { id: addressId } = await client.addresses.createExternal(accountId, clabe)
    const count = 200
    const quotes: (Quote | undefined)[] = []
    for (let at = 1; at <= count; at += 1) {
      const amount = { value: `${at}.01`, currency: 'MXN' }
      const pair = { source: { valueType: 'USDC' }, destination: { valueType: 'MXN' } }
      quotes.push((await client.quotes.create(accountId, { amount, ...pair })).quote)
    }
    const host = openStageHost(stage, await hosts.another(), url)
    await host.engine.start({ concurrency: 30 })
    const destination = { addressId, valueType: 'MXN', transferType: 'spei' }
    await host.transaction((tx) =>
      host.engine.transfers.enqueueMany(
        tx,
        quotes.map((quote) =>
          stage.payout({ destination, ...(quote && { amount: quote.destinationAmount, quoteId: quote.id }) }),
        ),
      ),
    )
    for (const share of [0.2, 0.6, 1]) {
      await waitUntil(
        async () => {
          const { submitted, settled } = await host.engine.backlog()
          return submitted + settled >= count * share
        },
        { timeoutMs: 60_000 },
      )
      if (share === 1) continue
      await program.kill('SIGKILL')
      program = await spawnNode(entry, { env: { ...env, PORT: new URL(url).port } })
    }
    const { host: stored, service } = await settleAll(stage, host, 90_000)
    expect(service).toHaveLength(count)
    expect(stored.filter(({ status }) => status !== 'complete')).toEqual([])
    const used = new Map<string, string | undefined>()
    for await (const { id, transferId } of client.quotes.iterate(accountId)) used.set(id, transferId)
    expect([...used.values()].toSorted()).toEqual(service.map(({ id }) => id).toSorted())
    const micros = quotes.reduce((sum, quote) => sum + BigInt(quote?.sourceAmount.value.replace('.', '') ?? ''), 0n)
    const left = 1_000_000n * 1_000_000n - micros
    expect(await stage.balance()).toBe(
      `${left / 1_000_000n}.${String(left % 1_000_000n).padStart(6, '0')}`.replace(/0+$/, ''),
    )
    await host.close()
    await client.close()
    await program.stop()
  })
})
