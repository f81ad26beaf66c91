import { waitUntil } from '@outlay/testing'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { creates, openScene, type Scene, type SceneOptions } from './scene.ts'
import { testSite } from './site.ts'
import { seedClient, settleAll } from './stage.ts'

// Answers of a real service to a request whose first answer was lost; each with its own host and account.
describe('a transfer whose answer was lost', async () => {
  const { hosts, services, sandbox } = await testSite()
  const service = new pg.Pool({ connectionString: services.url, max: 4 })
  afterAll(() => service.end())

  // These cases test no timeouts, so a busy machine must not cause any.
  const timeouts = { headersMs: 60_000, bodyMs: 60_000 }
  const open = async (options: SceneOptions = {}) =>
    openScene(sandbox, await hosts.another(), { ...options, host: { jitter: 0.001, timeouts, ...options.host } })
  const loseFirst = ({ proxy }: Scene) => proxy.faults.add({ ...creates, times: 1, fault: { kind: 'drop_response' } })
  const since = async ({ host }: Scene, id: string) =>
    (await host.pool.query('select unknown_since from outlay.transfer where id = $1', [id])).rows[0].unknown_since
  const asSystem = async (text: string, values: readonly unknown[]) => {
    const client = await service.connect()
    try {
      await client.query(`begin; set local outlay.system = 'on'`)
      const { rowCount } = await client.query(text, [...values])
      await client.query('commit')
      return rowCount
    } finally {
      client.release()
    }
  }
  const transfersAt = async ({ stage }: Scene) => {
    const found = []
    for await (const transfer of stage.client.transfers.iterate(stage.accountId)) found.push(transfer)
    return found
  }

  it.concurrent.each([400, 404, 410, 422])('is not failed by the page of a proxy: %i', async (status) => {
    await using scene = await open()
    loseFirst(scene)
    for (const nth of [2, 3]) scene.proxy.faults.add({ ...creates, nth, fault: { kind: 'refuse', status } })
    const fourth = scene.proxy.faults.hold({ ...creates, where: () => scene.creates.length > 3 })
    const { id } = await scene.enqueue()
    await scene.host.engine.start()
    await fourth.waitFor(1)
    expect(await scene.outcomes(id)).toEqual(['unknown', 'unknown', 'unknown', null])
    expect(await since(scene, id)).not.toBeNull()
    await expect(scene.host.transaction((tx) => scene.host.engine.transfers.resubmit(tx, id))).rejects.toMatchObject({
      code: 'conflict',
    })
    fourth.release()
    await scene.proveOne()
  })

  it.concurrent('is not failed by a page on its first attempt either', async () => {
    await using scene = await open()
    scene.proxy.faults.add({ ...creates, times: 1, fault: { kind: 'fail_after', status: 404 } })
    const { id } = await scene.enqueue()
    await scene.host.engine.start()
    await scene.proveOne()
    expect(await scene.outcomes(id)).toEqual(['unknown', 'accepted'])
  })

  it.concurrent('is known by its key although the account was revoked from the client', async () => {
    await using scene = await open()
    loseFirst(scene)
    const { id } = await scene.enqueue()
    const held = scene.proxy.faults.hold({ ...creates, at: 'response' })
    await scene.host.engine.start()
    await held.waitFor(1)
    const { clientId } = scene.stage.settings('', '')
    const revoke = 'delete from outlay_service.client_account where client_id = $1 and account_id = $2'
    expect(await asSystem(revoke, [clientId, scene.stage.accountId])).toBe(1)
    held.release()
    await scene.arrive(id)
    expect((await scene.outcomes(id)).at(-1)).toBe('accepted')
    const given = `insert into outlay_service.client_account (client_id, account_id, created_at) values ($1, $2, now())`
    await asSystem(given, [clientId, scene.stage.accountId])
    await waitUntil(async () => (await transfersAt(scene).catch(() => [])).length === 1)
    await scene.proveOne()
  })

  it.concurrent('is not sent again once its key is forgotten, and there is one transfer', async () => {
    await using scene = await open()
    loseFirst(scene)
    const { id } = await scene.enqueue()
    const { engine, pool, transaction } = scene.host
    const nothing = scene.proxy.faults.add({ ...creates, fault: { kind: 'drop_request' } })
    await engine.start()
    await waitUntil(async () => (await since(scene, id)) !== null)
    await transaction((tx) => engine.accounts.pause(tx, scene.stage.accountId))
    await scene.reach(id, { stage: 'queued', reason: 'account_paused' })
    nothing.remove()
    const sent = scene.creates.length
    // Nobody worked for 31 days, and the service forgot the key on the thirtieth.
    await asSystem('delete from outlay_service.idempotency_key where client_id = $1', [
      scene.stage.settings('', '').clientId,
    ])
    await pool.query(`update outlay.transfer set unknown_since = now() - interval '31 days' where id = $1`, [id])
    await transaction((tx) => engine.accounts.resume(tx, scene.stage.accountId))
    await scene.reach(id, { stage: 'blocked' })
    await transaction((tx) => engine.transfers.release(tx, id))
    await scene.reach(id, { stage: 'blocked', reason: 'key_expired' })
    expect(scene.creates).toHaveLength(sent)
    expect(await transfersAt(scene)).toHaveLength(1)
  })

  it.concurrent('is not sent as another client that the vault names later', async () => {
    const vault: { current?: { clientId: string; clientSecret: string } } = {}
    await using scene = await open({ credentials: () => vault.current ?? Promise.reject(new Error('sealed')) })
    const { clientId, clientSecret } = scene.stage.settings('', '')
    vault.current = { clientId, clientSecret }
    const other = await sandbox.seedClient({ ...seedClient, accounts: [] })
    const give = `insert into outlay_service.client_account (client_id, account_id, created_at) values ($1, $2, now())`
    await asSystem(give, [other.clientId, scene.stage.accountId])
    // The first request has its effect before the vault changes; then the token of before is refused.
    scene.proxy.faults.add({ ...creates, nth: 2, fault: { kind: 'refuse', status: 401 } })
    const held = scene.proxy.faults.hold({ ...creates, at: 'response' })
    loseFirst(scene)
    const { id } = await scene.enqueue()
    await scene.host.engine.start()
    await held.waitFor(1)
    vault.current = other
    held.release()
    await scene.reach(id, { stage: 'queued', reason: 'client_changed' })
    expect(await transfersAt(scene)).toHaveLength(1)
    vault.current = { clientId, clientSecret }
    await scene.host.transaction((tx) => scene.host.engine.transfers.release(tx, id))
    await scene.proveOne()
  })

  it.concurrent('under the same key as one of another account of the client, is apart from it', async () => {
    const [account] = seedClient.accounts ?? []
    const two = { ...seedClient, accounts: [account, { ...account, businessName: 'Globex' }] } as typeof seedClient
    await using scene = await open({ client: two })
    const { stage, host } = scene
    const accounts = await stage.client.accounts.list(stage.accountId)
    const second = accounts.find((accountId) => accountId !== stage.accountId) ?? ''
    const wallets = []
    for await (const one of stage.client.addresses.iterate(second, { type: 'internal' })) wallets.push(one)
    const walletId = wallets.find(({ transferTypes }) => transferTypes.includes('base'))?.id ?? ''
    const payee = { name: 'Bob', address: '0x52908400098527886E0F7030069857D2E4169EE7', transferTypes: ['base'] }
    const { id: payeeId } = await stage.client.addresses.createExternal(second, payee)
    await scene.enqueue({ idempotencyKey: 'inv-7' })
    const theirs = await host.transaction((tx) =>
      host.engine.transfers.enqueue(tx, {
        ...stage.payout(),
        accountId: second,
        idempotencyKey: 'inv-7',
        source: { addressId: walletId, valueType: 'USDC', transferType: 'base' },
        destination: { addressId: payeeId, valueType: 'USDC', transferType: 'base' },
      }),
    )
    await host.engine.start()
    await scene.arrive(theirs.id)
    const { host: stored } = await settleAll(stage, host)
    expect(stored.map(({ status }) => status)).toEqual(['complete', 'complete'])
    expect(new Set(scene.creates.map(({ key }) => key)).size).toBe(2)
  })
})
