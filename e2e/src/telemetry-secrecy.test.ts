import { inspect } from 'node:util'
import { type Client, createClient, httpWebhooks } from '@outlay/http-client'
import { startSandbox } from '@outlay/service/sandbox'
import { postalAddress, recordingLogger, usBankAccount, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { type Host, migrateHost } from './host.ts'
import { nestSpans, openRecorder } from './recorder.ts'
import { creates, openScene, type Scene } from './scene.ts'
import { openStageHost, type Stage } from './stage.ts'

/** Texts that no trace, metric or log line may contain. */
const canaries = {
  accountNumber: '90210555123477',
  otherAccount: '90210555129988',
  ssn: '987-12-6543',
  ssnDigits: '987126543',
  ein: '98-7651234',
  payee: 'Canary Payee Limited',
  wireMemo: 'CANARY-MEMO-77',
  note: 'canary note about a person',
  idempotencyKey: 'canary-idempotency-key-5',
  amount: '7301.19',
  badSecret: 'canary-wrong-client-secret',
}

describe('what telemetry and logs contain', async () => {
  nestSpans()
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase()
  const [service, recorder] = [openRecorder('service'), openRecorder('host')]
  const [serviceLog, hostLog] = [recordingLogger(), recordingLogger()]
  const sandbox = await startSandbox({
    databaseUrl: services.url,
    telemetry: service.telemetry,
    logger: serviceLog,
  })
  afterAll(() => sandbox.stop())

  it('has no secret, no amount and nothing personal in it, on success and on failure', async () => {
    let webhookSecret = ''
    const webhooks = httpWebhooks({ secrets: () => webhookSecret })
    const received = { telemetry: recorder.telemetry, logger: hostLog }
    await using scene = await openScene(sandbox, await hosts.another(), { host: { ...received, webhooks } })
    const { stage, proxy } = scene
    const credentials = stage.settings('', '')
    const client = createClient({ baseUrl: proxy.url, credentials, telemetry: recorder.telemetry })
    const registered = await register(client, stage.accountId)
    webhookSecret = registered.webhookSecret
    const id = await payOut(scene, registered.bankId)
    const forged = { body: canaries.payee, headers: { 'webhook-signature': `v1,${canaries.badSecret}` } }
    expect((await scene.host.engine.webhook(forged, stage)).status).toBe(401)
    const wrong = { clientId: credentials.clientId, clientSecret: canaries.badSecret }
    const refused = openStageHost(stage, await hosts.another(), proxy.url, { ...received, credentials: wrong })
    const refusedId = await awaitRefusal(refused, stage)
    await client.close()

    const found = await Promise.all([recorder.everything(), service.everything()])
    const everything = { found, logs: [serviceLog.entries, hostLog.entries] }
    const text = inspect(everything, { depth: null, maxArrayLength: null, maxStringLength: null })
    // Spans of both sides, metrics and log lines all exist.
    for (const sign of [id, refusedId, 'POST /oauth2/token', 'outlay register', 'A request was answered.']) {
      expect(text).toContain(sign)
    }
    for (const outcome of [
      'unknown',
      'accepted',
      'insufficient_balance',
      'unauthorized',
      'webhook_signature_invalid',
    ]) {
      expect(text).toContain(outcome)
    }
    const token = scene.creates[0]?.token ?? ''
    expect(webhookSecret).toMatch(/^whsec_/)
    const secrets = { ...canaries, webhookSecret, clientSecret: credentials.clientSecret, token }
    for (const [name, secret] of Object.entries(secrets)) {
      expect(secret.length, name).toBeGreaterThan(5)
      expect(text.includes(secret), `${name} is in a span, a metric or a log line`).toBe(false)
    }
  })
})

/** Registers an account with a person, a counterparty with a bank account, and a webhook, over traced HTTP. */
async function register(client: Client, accountId: string) {
  await client.accounts.create(accountId, {
    businessName: 'Canary Customer',
    ein: canaries.ein,
    address: postalAddress,
    phoneNumber: '+12175550100',
    email: 'canary@example.com',
    website: 'https://canary.example',
    ultimateBeneficialOwners: [{ name: canaries.payee, ssn: canaries.ssn, address: postalAddress }],
  })
  const bank = { ...usBankAccount, owner: canaries.payee, accountNumber: canaries.accountNumber }
  const { id: bankId } = await client.addresses.createExternal(accountId, bank)
  const broken = { ...bank, routingNumber: '021000022' }
  await expect(client.addresses.createExternal(accountId, broken)).rejects.toMatchObject({
    code: 'invalid_routing_number',
  })
  const url = 'http://127.0.0.1:1/'
  const { secret = '' } = await client.webhooks.create(accountId, { url, eventTypes: ['transfer.*'] })
  return { bankId, webhookSecret: secret }
}

/**
 * Enqueues a payout by wire whose first answer is lost, which completes, one to a new counterparty, and one that
 * lacks funds. Returns the first one's id.
 */
async function payOut({ enqueue, host, proxy, stage }: Scene, bankId: string): Promise<string> {
  proxy.faults.add({ ...creates, nth: 1, fault: { kind: 'drop_response' } })
  const wire = {
    destination: { addressId: bankId, valueType: 'USD', transferType: 'wire', wireMemo: canaries.wireMemo },
    amount: { value: canaries.amount, currency: 'USD' },
    note: canaries.note,
  }
  const { id } = await enqueue({ ...wire, idempotencyKey: canaries.idempotencyKey })
  await enqueue({ ...wire, amount: { value: '99999999.99', currency: 'USD' } })
  const address = {
    ...usBankAccount,
    name: canaries.payee,
    owner: canaries.payee,
    accountNumber: canaries.otherAccount,
  }
  await enqueue({ ...wire, destination: { ...wire.destination, addressId: undefined, address } })
  await host.engine.start()
  const isDone = async () => {
    await stage.advance(3_600)
    const { settled, awaitingFunds } = await host.engine.backlog()
    return settled === 2 && awaitingFunds === 1
  }
  await waitUntil(isDone, { timeoutMs: 60_000 })
  return id
}

/** Lets a host with refused credentials enqueue, and waits for the refusal. Returns the id of its transfer. */
async function awaitRefusal(host: Host, stage: Stage): Promise<string> {
  const payout = stage.payout({ note: canaries.note })
  const { id } = await host.transaction((tx) => host.engine.transfers.enqueue(tx, payout))
  await host.engine.start()
  const isRefused = async () => (await host.engine.transfers.get(id))?.reason === 'unauthenticated'
  await waitUntil(isRefused, { timeoutMs: 60_000 })
  await host.close()
  return id
}
