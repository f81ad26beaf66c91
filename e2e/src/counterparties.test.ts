import type { EnqueueRequest, ExternalAddressDetails } from '@outlay/core'
import type { Credentials } from '@outlay/http-client'
import {
  accountNumbers,
  addresses,
  crashPointVariable,
  type FaultRule,
  routingNumbers,
  spawnNode,
  waitUntil,
} from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { toEnvironment } from './host.ts'
import { creates, openScene, type Scene, type SceneOptions } from './scene.ts'
import { testSite } from './site.ts'
import { settleAll } from './stage.ts'

const workerFile = new URL('./worker-main.ts', import.meta.url)
const registrations = { method: 'POST', path: /addresses\/external$/ } as const
const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
const bank = {
  owner: 'Grace Hopper',
  name: 'Grace',
  accountNumber: accountNumbers[0],
  routingNumber: routingNumbers[0],
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
  transferTypes: ['rtp', 'wire'],
} as const
const wallet = { name: 'Grace', address: addresses.evm[1], transferTypes: ['base'] }

/** The part of a payout with its counterparty's details. */
const toBank = (details: Partial<Record<keyof typeof bank, string>> = {}): Partial<EnqueueRequest> => ({
  amount: { value: '12.50', currency: 'USD' },
  destination: {
    address: { ...bank, ...details } as ExternalAddressDetails,
    valueType: 'USD',
    transferType: 'rtp',
  },
})
const toWallet = (address: ExternalAddressDetails = wallet): Partial<EnqueueRequest> => ({
  destination: { address, valueType: 'USDC', transferType: 'base' },
})

// One case per outcome of registering a counterparty; each has its own host, account and proxy.
describe('a payout to a new counterparty', async () => {
  const { hosts, sandbox } = await testSite()

  async function open(options?: SceneOptions) {
    const databaseUrl = await hosts.another()
    // These cases test no timeouts, so a busy machine must not cause any.
    const timeouts = { headersMs: 60_000, bodyMs: 60_000 }
    const scene = await openScene(sandbox, databaseUrl, { host: { timeouts }, ...options })
    const keys: string[] = []
    scene.proxy.faults.add({
      ...registrations,
      where: ({ headers }) => {
        keys.push(String(headers['idempotency-key']))
        return false
      },
      fault: { kind: 'delay_request', ms: 0 },
    })
    return { scene, databaseUrl, keys }
  }
  /** The counterparties of the service, without the payee of the stage. */
  const registered = async ({ stage }: Scene) => {
    const found = []
    for await (const address of stage.client.addresses.iterate(stage.accountId, { type: 'external' })) {
      if (address.id !== stage.payeeId) found.push(address)
    }
    return found
  }
  /** Proves that both sides have one counterparty and one transfer to it. */
  const proveOne = async (scene: Scene, keys: readonly string[]) => {
    const account = await scene.proveOne()
    const [address, ...more] = await registered(scene)
    expect(more).toEqual([])
    const transfer = await scene.host.engine.transfers.get(account.host[0]?.id ?? '')
    expect(transfer?.request.destination.addressId).toBe(address?.id)
    expect(new Set(keys).size).toBe(1)
    expect(keys[0]).not.toBe(transfer?.idempotencyKey)
    const { rows } = await scene.host.pool.query('select * from outlay.counterparty_details')
    expect(rows).toEqual([])
    return { transfer, address }
  }

  it.concurrent('at a bank: both commit together, and both exist once', async () => {
    const { scene, keys } = await open()
    await using _scene = scene
    const destination = { address: bank, valueType: 'USD', transferType: 'wire', wireMemo: 'PAYROLL' }
    const { id } = await scene.enqueue({ ...toBank(), destination })
    await scene.host.engine.start()
    await scene.arrive(id)
    await scene.stage.advance(7_200)
    const { transfer, address } = await proveOne(scene, keys)
    expect(address).toMatchObject({ name: 'Grace', owner: 'Grace Hopper', accountNumber: '****7890' })
    expect(transfer?.request.destination).toMatchObject({
      address: { kind: 'bank_account', name: 'Grace', lastFour: '7890' },
      wireMemo: 'PAYROLL',
    })
    expect(JSON.stringify(transfer)).not.toContain(bank.accountNumber)
    expect(await scene.outcomes(id)).toEqual(['accepted', 'accepted'])
  })

  it.concurrent('with a wallet: the same', async () => {
    const { scene, keys } = await open()
    await using _scene = scene
    await scene.enqueue(toWallet())
    await scene.host.engine.start()
    const { address } = await proveOne(scene, keys)
    expect(address).toMatchObject({ address: wallet.address, transferTypes: ['base'] })
    expect(Number(await scene.stage.balance())).toBe(1_000_000 - 12.5)
  })

  it.concurrent('many of them to one counterparty: the service has it once', async () => {
    const { scene } = await open()
    await using _scene = scene
    const { host, stage } = scene
    const payslips = Array.from({ length: 20 }, () => ({ ...stage.payout(), ...toWallet() }))
    await host.transaction((tx) => host.engine.transfers.enqueueMany(tx, payslips))
    await host.engine.start()
    expect((await settleAll(stage, host)).service).toHaveLength(20)
    expect(await registered(scene)).toHaveLength(1)
  })

  it.concurrent('that the host rolls back: nothing reaches the service', async () => {
    const { scene, keys } = await open()
    await using _scene = scene
    const { host, stage } = scene
    const undone = host.transaction(async (tx) => {
      await host.engine.transfers.enqueue(tx, { ...stage.payout(), ...toBank() })
      throw new Error('not after all')
    })
    await expect(undone).rejects.toThrow('not after all')
    await host.engine.start()
    await scene.enqueue()
    await settleAll(stage, host)
    expect(keys).toEqual([])
    expect(await registered(scene)).toEqual([])
  })

  it.concurrent.each([
    ['is lost', { kind: 'drop_response' }],
    ['breaks off', { kind: 'reset_body' }],
    ['is a 500', { kind: 'fail_after' }],
  ] as const satisfies readonly (readonly [string, FaultRule['fault']])[])(
    'whose answer to the registration %s: the same key is sent again, and there is one of both',
    async (_, fault) => {
      const { scene, keys } = await open()
      await using _scene = scene
      scene.proxy.faults.add({ ...registrations, nth: 1, fault })
      const { id } = await scene.enqueue(toBank())
      await scene.host.engine.start()
      await proveOne(scene, keys)
      expect(keys).toHaveLength(2)
      expect(await scene.outcomes(id)).toEqual(['unknown', 'accepted', 'accepted'])
    },
  )

  it.concurrent('whose registration stays unknown: it can be canceled, since no money can have moved', async () => {
    const { scene } = await open()
    await using _scene = scene
    scene.proxy.faults.add({ ...registrations, fault: { kind: 'fail_after' } })
    const { id } = await scene.enqueue(toBank())
    await scene.host.engine.start()
    await scene.reach(id, { stage: 'queued', reason: 'registration_unknown' })
    await waitUntil(() => scene.cancel(id))
    expect(scene.creates).toEqual([])
  })

  it.concurrent.each([
    ['after the service registered it and before that was written', 'registered'],
    ['between the registration and the transfer', 'registration_settled'],
  ])('whose worker is killed %s: another one continues, and there is one of both', async (_, at) => {
    const { scene, databaseUrl, keys } = await open()
    await using _scene = scene
    const { stage, proxy, host } = scene
    const env = { ...toEnvironment(stage.settings(databaseUrl, proxy.url)), [crashPointVariable]: at }
    const dying = await spawnNode(workerFile, { env })
    const { id } = await scene.enqueue(toBank())
    await waitUntil(() => dying.messages.some((message) => (message as { at?: string }).at === at), {
      timeoutMs: 60_000,
    })
    await dying.kill('SIGKILL')
    expect(scene.creates).toEqual([])
    expect(await registered(scene)).toHaveLength(1)
    await host.engine.start()
    await proveOne(scene, keys)
    const outcomes = (await scene.outcomes(id)).filter((outcome) => outcome !== 'unknown')
    expect(outcomes).toEqual(at === 'registered' ? [null, 'accepted', 'accepted'] : ['accepted', null, 'accepted'])
  })

  it.concurrent('that the service refuses: the transfer fails with its code and the member, and nothing is sent', async () => {
    const { scene } = await open()
    await using _scene = scene
    const { host } = scene
    const testnet = { ...wallet, transferTypes: ['base_sepolia'] }
    const { id } = await scene.enqueue({
      source: { addressId: scene.stage.walletId, valueType: 'USDC', transferType: 'base_sepolia' },
      destination: { address: testnet, valueType: 'USDC', transferType: 'base_sepolia' },
    })
    await host.engine.start()
    const { status, failure } = await scene.reach(id, { stage: 'settled' })
    expect(status).toBe('failed')
    expect(failure).toMatchObject({ type: 'rejected', code: 'mixed_environments', retriable: false })
    expect(failure?.detail).toMatch(/^destination\.address\.transferTypes: /)
    expect(scene.creates).toEqual([])
    const { effects } = await settleAll(scene.stage, host)
    expect(effects).toEqual([{ transfer_id: id, type: 'transfer.failed' }])
  })

  it.concurrent('with credentials that are refused: it waits for good ones, and registers with its first key', async () => {
    const vault: { current: Credentials } = { current: { clientId: 'nobody', clientSecret: 'nothing' } }
    const { scene, keys } = await open({ credentials: () => vault.current })
    await using _scene = scene
    const { host, stage } = scene
    const { id } = await scene.enqueue(toBank())
    await host.engine.start()
    await scene.reach(id, { stage: 'queued', reason: 'unauthenticated' })
    const { clientId, clientSecret } = stage.settings('', '')
    vault.current = { clientId, clientSecret }
    await host.transaction((tx) => host.engine.accounts.retryCredentials(tx, stage.accountId))
    await proveOne(scene, keys)
    expect(scene.news).toEqual(['account.credentials_refused', 'account.credentials_restored'])
  })

  it.concurrent('under a key that belongs to other bank details: it is refused, before and after these are wiped', async () => {
    const { scene, keys } = await open()
    await using _scene = scene
    const { id } = await scene.enqueue({ ...toBank(), idempotencyKey: 'payslip' })
    const compare = async () => {
      expect(await scene.enqueue({ ...toBank(), idempotencyKey: 'payslip' })).toMatchObject({ id, reused: true })
      const other = scene.enqueue({ ...toBank({ accountNumber: '1234567891' }), idempotencyKey: 'payslip' })
      await expect(other).rejects.toMatchObject({ code: 'idempotency_key_mismatch' })
    }
    await compare()
    await scene.host.engine.start()
    await proveOne(scene, keys)
    await compare()
  })

  it.concurrent('that is not one: every broken rule is reported under its member, and the transaction continues', async () => {
    const { scene } = await open()
    await using _scene = scene
    const { host, stage } = scene
    const wrong = { ...stage.payout(), ...toBank({ accountNumber: '12', routingNumber: '123456789' }) }
    const fields = await host.transaction(async (tx) => {
      const refused = await host.engine.transfers.enqueue(tx, wrong).catch((error: unknown) => error)
      await tx.query('select 1')
      return (refused as { readonly issues: readonly { readonly field: string }[] }).issues.map(({ field }) => field)
    })
    expect(fields).toEqual(['destination.address.accountNumber', 'destination.address.routingNumber'])
    expect(scene.proxy.faults.seen).toBe(0)
  })

  it.concurrent('is sent to nobody twice when the create fails as well', async () => {
    const { scene, keys } = await open()
    await using _scene = scene
    scene.proxy.faults.add({ ...creates, nth: 1, fault: { kind: 'drop_response' } })
    const { id } = await scene.enqueue(toWallet())
    await scene.host.engine.start()
    await proveOne(scene, keys)
    expect(await scene.outcomes(id)).toEqual(['accepted', 'unknown', 'accepted'])
    expect(keys).toHaveLength(1)
  })
})
