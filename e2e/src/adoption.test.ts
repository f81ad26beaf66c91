import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type Gateway, isAdopted, type TransferEvent } from '@outlay/core'
import { httpWebhooks } from '@outlay/http-client'
import type { SeedClient } from '@outlay/service/sandbox'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { type Host, type HostOptions, migrateHost, openHost } from './host.ts'
import { creates, openScene } from './scene.ts'
import { type Stage, setStage, startService } from './stage.ts'

/** A client whose wallet on Base has too little for a payout. */
const poorClient: SeedClient = {
  name: 'Acme',
  accounts: [{ businessName: 'Acme', funds: [{ valueType: 'USDC', transferType: 'base', amount: '5' }] }],
}

describe('a host that watches its account', async () => {
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase()
  const sandbox = await startService(services.url)
  afterAll(() => sandbox.stop())

  async function open(options: HostOptions = {}, around?: (gateway: Gateway) => Gateway) {
    const stage = await setStage(sandbox.url, await sandbox.seedClient(poorClient))
    const settings = stage.settings(await hosts.another(), sandbox.url)
    // After a refusal for lack of funds the engine sends a transfer again after half a minute.
    const host = openHost(settings, { jitter: 0.99, around, ...options })
    const received: TransferEvent[] = []
    host.engine.subscribe('news', ['transfer.adopted', 'transfer.completed', 'transfer.released'], async (event) => {
      received.push(event)
    })
    return {
      stage,
      host,
      received,
      async [Symbol.asyncDispose]() {
        await host.close()
        await stage.client.close()
      },
    }
  }

  it.concurrent('sends what awaits funds when a deposit of its automation completes', async () => {
    await using scene = await open()
    const { stage, host, received } = scene
    const { engine } = host
    const accountNumber = await openAutomation(stage)
    await host.transaction((tx) => engine.accounts.watch(tx, stage.accountId))
    await engine.start()
    const payout = await host.transaction((tx) => engine.transfers.enqueue(tx, stage.payout()))
    await waitUntil(async () => (await engine.transfers.get(payout.id))?.stage === 'awaiting_funds', {
      timeoutMs: 60_000,
    })
    await stage.deposit(accountNumber, '400.00')
    const adopted = await waitUntil(() => received.find(({ type }) => type === 'transfer.adopted'), {
      timeoutMs: 60_000,
    })
    expect(isAdopted(adopted.transfer)).toBe(true)
    await settled(scene, 2)
    expect(await engine.transfers.get(payout.id)).toMatchObject({ status: 'complete' })
    const receivedOf = (id: string) => received.filter(({ transferId }) => transferId === id).map(({ type }) => type)
    expect(receivedOf(adopted.transferId)).toEqual(['transfer.adopted', 'transfer.completed'])
    // Only the engine can have released it.
    expect(receivedOf(payout.id)).toEqual(['transfer.released', 'transfer.completed'])
    expect(await stage.balance()).toBe('392.50')
  })

  it.concurrent('learns of a deposit by webhook, and counts it once however often it is reported', async () => {
    let secret = ''
    const webhooks = httpWebhooks({ secrets: () => secret })
    // There are no lists to find anything in.
    await using scene = await open({ webhooks }, ({ submit, get }) => ({ submit, get }))
    const { stage, host, received } = scene
    const { accountId, client } = stage
    const types: string[] = []
    const server = createServer(async (request, response) => {
      const webhook = { body: await buffer(request), headers: request.headers }
      types.push(JSON.parse(webhook.body.toString()).type)
      const answers = [1, 2, 3].map(() => host.engine.webhook(webhook, { accountId }))
      response.writeHead((await Promise.all(answers))[0]?.status ?? 500).end()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    secret = (await client.webhooks.create(accountId, { url, eventTypes: ['transfer.*'] })).secret ?? ''
    await host.transaction((tx) => host.engine.accounts.watch(tx, accountId))
    await host.engine.start()
    await stage.deposit(await openAutomation(stage), '400.00')
    await waitUntil(() => received.some(({ type }) => type === 'transfer.adopted'), { timeoutMs: 60_000 })
    await settled(scene, 1)
    expect(received.map(({ type }) => type)).toEqual(['transfer.adopted', 'transfer.completed'])
    await waitUntil(() => types.includes('transfer.completed'))
    expect((await host.pool.query('select 1 from outlay.transfer')).rowCount).toBe(1)
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  it.concurrent('never adopts its own transfer, which the service lists before its answer is here', async () => {
    await using scene = await openScene(sandbox, await hosts.another(), { client: poorClient })
    const { stage, host, proxy } = scene
    const accountNumber = await openAutomation(stage)
    const answer = proxy.faults.hold({ ...creates, at: 'response' })
    await host.transaction((tx) => host.engine.accounts.watch(tx, stage.accountId))
    await host.engine.start()
    const own = await scene.enqueue({ amount: { value: '2.50', currency: 'USDC' } })
    await answer.waitFor(1)
    await stage.deposit(accountNumber, '400.00')
    const rows = async () => (await host.pool.query('select * from outlay.transfer')).rows
    const found = 'select remote_id from outlay.found_transfer'
    // The deposit is adopted by a check of everything that was found, the transfer from here included.
    const patience = { timeoutMs: 60_000 }
    await waitUntil(async () => ((await host.pool.query(found)).rowCount ?? 0) > 0, patience)
    await waitUntil(async () => (await rows()).length === 2, patience)
    expect((await rows()).filter((row) => row.remote_id !== null)).toHaveLength(1)
    answer.release()
    await settled(scene, 2)
    const listed: string[] = []
    for await (const { id } of stage.client.transfers.iterate(stage.accountId)) listed.push(id)
    expect((await rows()).map((row) => row.remote_id).toSorted()).toEqual(listed.toSorted())
    const stored = await host.engine.transfers.get(own.id)
    expect(stored && isAdopted(stored)).toBe(false)
    expect(new Set(scene.creates.map(({ key }) => key)).size).toBe(1)
    await waitUntil(async () => (await host.pool.query(found)).rowCount === 0, patience)
  })

  it.concurrent('adopts what another system sends from the same account, and never what it sends itself', async () => {
    await using one = await open()
    const { stage, host, received } = one
    const other = openHost(stage.settings(await hosts.another(), sandbox.url), { jitter: 0.05 })
    await using _ = { [Symbol.asyncDispose]: () => other.close() }
    await host.transaction((tx) => host.engine.accounts.watch(tx, stage.accountId))
    const small = () => stage.payout({ amount: { value: '0.10', currency: 'USDC' } })
    const payouts = (count: number) => Array.from({ length: count }, small)
    await host.transaction((tx) => host.engine.transfers.enqueueMany(tx, payouts(15)))
    await other.transaction((tx) => other.engine.transfers.enqueueMany(tx, payouts(15)))
    await Promise.all([host.engine.start(), other.engine.start()])
    await settled(one, 30)
    const theirs = (await other.pool.query('select remote_id from outlay.transfer')).rows.map((row) => row.remote_id)
    const adopted = received.filter(({ type }) => type === 'transfer.adopted').map(({ transfer }) => transfer.remoteId)
    expect(adopted.toSorted()).toEqual(theirs.toSorted())
    const rows = (await host.pool.query('select remote_id from outlay.transfer')).rows
    expect(new Set(rows.map((row) => row.remote_id)).size).toBe(30)
  })
})

/** Lets the service's time run until the host has so many transfers, all settled and delivered. */
async function settled({ stage, host }: { readonly stage: Stage; readonly host: Host }, count: number): Promise<void> {
  let last: unknown
  await waitUntil(
    async () => {
      await stage.advance(60)
      const backlog = await host.engine.backlog()
      last = backlog
      return backlog.settled === count && backlog.undelivered === 0
    },
    { timeoutMs: 60_000, describe: () => `${count} transfers to settle; there are ${JSON.stringify(last)}` },
  )
}

/** Opens an automation that turns dollars into USDC in the wallet on Base. Returns its account number. */
async function openAutomation({ client, accountId, walletId }: Stage): Promise<string> {
  const { id } = await client.automations.create(accountId, {
    name: 'Customers',
    source: { valueType: 'USD' },
    destination: { addressId: walletId, valueType: 'USDC', transferType: 'base' },
  })
  return waitUntil(async () => {
    const automation = await client.automations.get(accountId, id)
    return automation?.source.fundingInstructions?.accountNumber
  })
}
