import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import type { ExternalAddressDetails } from '@outlay/core'
import { httpWebhooks } from '@outlay/http-client'
import { startSandbox } from '@outlay/service/sandbox'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { migrateHost } from './host.ts'
import { signIn } from './raw-connection.ts'
import { openScene, type Scene } from './scene.ts'
import { type Account, seedClient, settleAll } from './stage.ts'
import { recordWrites } from './written-rows.ts'

/** Texts that occur nowhere else, by kind. Secrets that the service makes are added once they exist. */
const canaries = {
  ssn: '907654321',
  dashedSsn: '907-65-4321',
  ein: '983217654',
  'owner of the business': 'Canaria Beneficiaria',
  'birthday of the controller': '1987-06-05',
  'account number': '7362519480731',
  'account number of a counterparty': '8473620591842',
  'refused account number': '9584731600422',
  'owner of a bank account': 'Canaria Depositaria',
  'owner of a counterparty': 'Canaria Recipienda',
  'routing number': '063108680',
  'street of a counterparty': '17 Canaria Street',
}
type CanaryName = keyof typeof canaries | 'client secret' | 'access token' | 'webhook secret' | 'rotated webhook secret'

/**
 * Where a canary may be written, by database; everything else is a leak. The account and the registered address are
 * data of the service: it shows names and routing numbers to their client, and encrypts the numbers. The host keeps a
 * counterparty until the service has it.
 */
const allowed: Partial<
  Record<CanaryName, { readonly service?: readonly string[]; readonly host?: readonly string[] }>
> = {
  'owner of the business': { service: ['outlay_service.account.ultimate_beneficial_owners'] },
  'account number of a counterparty': { host: ['outlay.counterparty_details.details'] },
  'refused account number': { host: ['outlay.counterparty_details.details'] },
  'owner of a bank account': { service: ['outlay_service.address.bank_owner'] },
  'owner of a counterparty': {
    service: ['outlay_service.address.bank_owner'],
    host: ['outlay.counterparty_details.details'],
  },
  'routing number': {
    service: ['outlay_service.address.bank_routing_number'],
    host: ['outlay.counterparty_details.details'],
  },
  'street of a counterparty': {
    service: ['outlay_service.address.bank_address', 'outlay_service.address.beneficiary_address'],
    host: ['outlay.counterparty_details.details'],
  },
}

const postal = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }
const account = {
  business_name: 'Acme Incorporated',
  ein: canaries.ein,
  address: postal,
  phone_number: '+1 217 555 0100',
  email: 'finance@acme.example',
  website: 'https://acme.example',
  ultimate_beneficial_owners: [
    { name: canaries['owner of the business'], ssn: canaries.dashedSsn, address: postal },
    { name: canaries['owner of the business'], ssn: canaries.ssn, address: postal },
  ],
  business_controller: { ssn: canaries.ssn, date_of_birth: canaries['birthday of the controller'] },
}
const bank = {
  owner: canaries['owner of a bank account'],
  name: 'Operating account',
  account_number: canaries['account number'],
  routing_number: canaries['routing number'],
  account_type: 'checking',
  bank_address: postal,
  beneficiary_address: postal,
  transfer_types: ['wire', 'ach_credit'],
}
const place = { streetLine1: canaries['street of a counterparty'], city: 'Austin', state: 'TX', zip: '78701' }
const counterparty = (accountNumber: string): ExternalAddressDetails => ({
  owner: canaries['owner of a counterparty'],
  name: 'Supplier',
  accountNumber,
  routingNumber: canaries['routing number'],
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
  transferTypes: ['rtp', 'wire'],
})
const payTo = (accountNumber: string, value = '12.50') => ({
  amount: { value, currency: 'USD' },
  destination: { address: counterparty(accountNumber), valueType: 'USD', transferType: 'rtp' },
})

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** The route of a host that receives webhooks. */
async function openReceiver(accept: (webhook: Received) => Promise<unknown>) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const webhook = { headers: request.headers, body: await text(request) }
    received.push(webhook)
    await accept(webhook)
    // A first refusal, so that the log of deliveries has a failed attempt too.
    response.writeHead(received.length === 1 ? 500 : 204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { received, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

describe('what is secret in a chain of host and service', async () => {
  const services = await testDatabase()
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const printed: unknown[][] = []
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, method).mockImplementation((...values) => void printed.push(values))
  const [serviceLog, hostLog] = [recordingLogger(), recordingLogger()]
  const sandbox = await startSandbox({ databaseUrl: services.url, logger: serviceLog })
  const rows = { service: await recordWrites(services.url), host: await recordWrites(hosts.url) }
  const secrets = new Map<CanaryName, string>(Object.entries(canaries) as [CanaryName, string][])
  const [answers, thrown, events]: [string[], unknown[], unknown[]] = [[], [], []]
  let scene: Scene
  let token = ''
  let finished: Account
  // The host accepts a genuine webhook, and refuses an altered one.
  const receiver = await openReceiver(async ({ headers, body }) => {
    const { accountId } = scene.stage
    for (const one of [body, `${body} `])
      events.push(await scene.host.engine.webhook({ headers, body: Buffer.from(one) }, { accountId }))
  })
  afterAll(async () => {
    await scene[Symbol.asyncDispose]()
    receiver.server.closeAllConnections()
    receiver.server.close()
    await sandbox.stop()
    for (const one of [rows.service, rows.host]) await one.close()
    vi.restoreAllMocks()
  })

  const ask = async (method: string, path: string, body?: unknown, authorization = `Bearer ${token}`) => {
    const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const response = await fetch(`${sandbox.url}${path}`, { method, headers, ...sent })
    return { status: response.status, text: await response.text() }
  }
  /** Answers that may show nothing: refusals. */
  const refuse = async (...call: Parameters<typeof ask>) => {
    const { status, text: body } = await ask(...call)
    expect(status, call.join(' ')).toBeGreaterThanOrEqual(400)
    answers.push(body)
  }

  const runService = async () => {
    const own = `/accounts/${scene.stage.accountId}`
    for (const [path, body] of [
      ['/accounts', account],
      [`${own}/addresses/external`, bank],
      [`${own}/financial-institutions/external`, bank],
    ] as const) {
      const { status, text: shown } = await ask('POST', path, body)
      expect([path, status]).toEqual([path, 201])
      for (const name of ['ssn', 'dashedSsn', 'ein', 'account number'] as const)
        expect(shown).not.toContain(canaries[name])
    }
    const [owner] = account.ultimate_beneficial_owners
    await refuse('POST', '/accounts', { ...account, ein: `${canaries.ein}-${canaries.ssn}`, email: canaries.ssn })
    await refuse('POST', '/accounts', {
      ...account,
      ultimate_beneficial_owners: [{ ...owner, ssn: `x${canaries.ssn}` }],
    })
    await refuse('POST', '/accounts', JSON.stringify(account).slice(0, -3))
    await refuse('POST', '/accounts', { ...account, [canaries.ssn]: 1, business_name: { ssn: canaries.ssn } })
    await refuse('POST', `${own}/addresses/external`, { ...bank, account_number: `${canaries['account number']}x` })
    await refuse('POST', `${own}/addresses/external`, { ...bank, routing_number: canaries['account number'] })
    await refuse('POST', `${own}/addresses/external`, { ...bank, account_type: canaries['owner of a bank account'] })
    await refuse('POST', `${own}/transfers`, { amount: { value: canaries.ssn, currency: canaries.ein }, source: bank })
    await refuse('GET', `/accounts/${canaries['account number']}/addresses`)
    await refuse('GET', `${own}/transfers?page[size]=${canaries.ssn}&status=${canaries.ein}`)
    await refuse('GET', own, undefined, `Bearer ${token}x`)
    await refuse('POST', '/oauth2/token', { client_secret: secrets.get('client secret') })
    await refuse('GET', own, undefined, `Basic ${btoa(`client:${secrets.get('client secret')}`)}`)
  }

  const runHost = async () => {
    const { host, stage, proxy } = scene
    let failures = 0
    host.engine.subscribe('canary', ['transfer.completed', 'transfer.failed', 'transfer.processing'], async (event) => {
      events.push(event)
      // One failure, for the log and for the row of the delivery.
      failures += 1
      if (failures === 1) throw new Error('The host cannot handle this event now.')
    })
    const registrations = { method: 'POST', path: /addresses\/external$/ } as const
    proxy.faults.add({ ...registrations, nth: 1, fault: { kind: 'drop_response' } })
    proxy.faults.add({ ...registrations, nth: 2, fault: { kind: 'fail_after', status: 503 } })
    for (const wrong of ['account number', 'owner of a counterparty'] as const)
      await scene.enqueue(payTo(`${canaries[wrong]}x`)).catch((error: unknown) => thrown.push(error))
    await scene.enqueue({ ...payTo(canaries['account number of a counterparty']), idempotencyKey: 'canary' })
    const other = payTo(canaries['account number of a counterparty'], '13.00')
    await scene.enqueue({ ...other, idempotencyKey: 'canary' }).catch((error: unknown) => thrown.push(error))
    await scene.enqueue(payTo(canaries['refused account number']))
    await scene.enqueue()
    expect(thrown).toHaveLength(3)
    await host.engine.start()
    finished = await settleAll(stage, host)
    for (const { id } of finished.host) events.push(await host.engine.transfers.get(id))
  }

  beforeAll(async () => {
    const webhooks = httpWebhooks({ secrets: () => secrets.get('rotated webhook secret') })
    scene = await openScene(sandbox, hosts.url, { client: seedClient, host: { webhooks, logger: hostLog } })
    const { clientId, clientSecret } = scene.stage.settings('', '')
    secrets.set('client secret', clientSecret)
    token = await signIn(sandbox, { clientId, clientSecret, accounts: [] })
    secrets.set('access token', token)
    const webhook = { url: receiver.url, event_types: ['*'] }
    const created = await ask('POST', `/accounts/${scene.stage.accountId}/webhooks`, webhook)
    const { id, secret } = JSON.parse(created.text) as { id: string; secret: string }
    secrets.set('webhook secret', secret)
    const rotation = `/accounts/${scene.stage.accountId}/webhooks/subscriptions/${id}/rotate`
    secrets.set('rotated webhook secret', (JSON.parse((await ask('POST', rotation)).text) as { secret: string }).secret)
    await runService()
    await runHost()
    const pending = `/accounts/${scene.stage.accountId}/webhooks/deliveries?status=pending`
    await waitUntil(async () => (await ask('GET', pending)).text.startsWith('{"deliveries":[],'))
    expect(receiver.received.length).toBeGreaterThan(4)
  })

  it('is exercised: transfers succeed and fail, and every store that could leak is written to', async () => {
    expect(finished.host.map(({ status }) => status).sort()).toEqual(['complete', 'complete', 'failed'])
    expect(answers.length).toBeGreaterThan(10)
    for (const [side, tables] of [
      [
        'service',
        ['account', 'address', 'idempotency_key', 'transfer', 'webhook_event', 'webhook_delivery', 'access_token'].map(
          (name) => `outlay_service.${name}`,
        ),
      ],
      [
        'host',
        ['transfer', 'event', 'attempt', 'delivery', 'counterparty', 'counterparty_details'].map(
          (name) => `outlay.${name}`,
        ),
      ],
    ] as const) {
      const written = await rows[side].tables()
      expect(tables.filter((table) => !written.has(table))).toEqual([])
      expect([...written].filter((table) => table.endsWith('.job'))).not.toEqual([])
    }
  })

  it('is written to no table but those that are meant for it, not even for a moment', async () => {
    const leaks: Record<string, unknown> = {}
    const expected: Record<string, unknown> = {}
    for (const [name, canary] of secrets) {
      leaks[name] = { service: await rows.service.placesOf(canary), host: await rows.host.placesOf(canary) }
      expected[name] = { service: [], host: [], ...allowed[name] }
    }
    expect(leaks).toEqual(expected)
  })

  it('is gone from the host once the service has it', async () => {
    for (const [name, canary] of secrets) expect([name, await rows.host.placesNow(canary)]).toEqual([name, []])
  })

  it('is in no line of a log, no refusal, no error, no event and no webhook', () => {
    const received = {
      'the log of the service': serviceLog.entries,
      'the log of the host': hostLog.entries,
      'standard output': printed,
      'a refusal of the service': answers,
      'an error at the host': thrown,
      'an event or a transfer at the host': events,
      'a webhook': receiver.received,
    }
    const leaks: string[] = []
    for (const [where, value] of Object.entries(received)) {
      const words = `${inspect(value, { depth: 20, maxArrayLength: null, maxStringLength: null })} ${JSON.stringify(value)}`
      for (const [name, canary] of secrets) {
        const spellings = [canary, btoa(canary), encodeURIComponent(canary)]
        if (spellings.some((one) => words.includes(one))) leaks.push(`${name} in ${where}`)
      }
    }
    expect(leaks).toEqual([])
    expect([serviceLog.entries.length, hostLog.entries.length].every((count) => count > 0)).toBe(true)
  })
})
