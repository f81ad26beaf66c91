import { randomUUID } from 'node:crypto'
import type { Sandbox, SeededClient } from '@outlay/service/sandbox'
import { waitUntil } from '@outlay/testing'
import { expect } from 'vitest'
import type { HostileKnowledge, HostileRequest } from './hostile-requests.ts'

const timeoutMs = 5_000

/** Text of a refusal that was not written for outsiders. */
const insides = /\bat \S+ \(|node_modules|syntax error|\bpg_\w+\b|\bselect\b.+\bfrom\b|\bviolates\b/i

/** The answer; a status of 0 means no answer in time. */
export interface HostileAnswer {
  readonly status: number
  readonly text: string
}

/** One client that attacks, and one whose data must stay where it is. */
export interface Attack {
  readonly knowledge: HostileKnowledge
  send(request: HostileRequest): Promise<HostileAnswer>
  /** What is wrong with an answer; `undefined` for a sound one. */
  judge(answer: HostileAnswer): string | undefined
  expectNoCanary(text: string): void
  expectVictimUnchanged(): Promise<void>
}

/** Sets the scene: an attacker with money, and a victim whose every text is a canary. */
export async function openAttack(sandbox: Sandbox): Promise<Attack> {
  const canary = `canary-${randomUUID().slice(0, 8)}`
  const victim = await openClient(sandbox, `${canary} Victim`)
  const victims = await furnish(victim, canary)
  const attacker = await openClient(sandbox, 'Attacker')
  const ids = await furnish(attacker, 'mine')
  const before = await waitUntil(async () => {
    const snapshot = await victim.snapshot()
    return snapshot.some((text) => text.includes('"status":"active","source"')) && snapshot
  })
  const knowledge = { token: attacker.token, own: attacker.own(ids), ids, foreign: Object.values(victims).flat() }
  let sent = 0
  const judge = ({ status, text }: HostileAnswer): string | undefined => {
    if (status === 0) return 'no answer'
    if (status >= 500) return 'a failure'
    if (text.includes(canary)) return 'data of the victim'
    if (status >= 400 && insides.test(text)) return 'the inside shows'
    return undefined
  }
  return {
    knowledge,
    judge,
    async send(request) {
      // One in ten goes over a socket. A large body may be cut off there by an answer that does not wait for its end.
      sent += 1
      const overSocket = sent % 10 === 0 && (request.body?.length ?? 0) < 32_768
      const answer = await send(overSocket ? fetch : sandbox.service.fetch, sandbox.url, request)
      if (answer.status === 201) learn(ids, request.target, answer.text)
      return answer
    },
    expectNoCanary: (text) => expect(text).not.toContain(canary),
    async expectVictimUnchanged() {
      expect(await victim.snapshot()).toEqual(before)
      expect(before.join('')).toContain(canary)
    },
  }
}

async function send(
  send: (request: Request) => Promise<Response>,
  url: string,
  { method, target, headers, body }: HostileRequest,
): Promise<HostileAnswer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<HostileAnswer>((resolve) => {
    timer = setTimeout(() => resolve({ status: 0, text: '' }), timeoutMs)
  })
  const init = { method, headers, ...(body === undefined ? {} : { body }) }
  const answered = send(new Request(`${url}${target}`, init)).then(async (response) => ({
    status: response.status,
    text: await response.text(),
  }))
  try {
    return await Promise.race([answered, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Remembers the id of a new resource, so that later requests can spoil it. */
function learn(ids: Record<string, string[]>, target: string, text: string): void {
  const [, name] = [
    [/\/addresses\/external/, 'address_id'],
    [/\/transfers?(\?|$)/, 'transfer_id'],
    [/\/automations(\?|$)/, 'automation_id'],
    [/\/webhooks(\?|$)/, 'subscription_id'],
    [/\/financial-institutions\/external/, 'financial_institution_id'],
  ].find(([pattern]) => (pattern as RegExp).test(target)) ?? [undefined, undefined]
  const { id } = JSON.parse(text) as { id?: unknown }
  const list = ids[name as string]
  if (typeof id === 'string' && list !== undefined && list.length < 40) list.push(id)
}

interface AttackClient {
  readonly token: string
  readonly accountId: string
  readonly walletId: string
  post(path: string, body: unknown): Promise<Record<string, unknown>>
  /** Ids of the events that webhooks received. */
  readEventIds(): Promise<string[]>
  own(ids: Readonly<Record<string, readonly string[]>>): HostileKnowledge['own']
  snapshot(): Promise<readonly string[]>
}

async function openClient(sandbox: Sandbox, businessName: string): Promise<AttackClient> {
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }]
  const client = await sandbox.seedClient({ name: businessName, accounts: [{ businessName, funds }] })
  const token = await signIn(sandbox, client)
  const account = client.accounts[0]
  const wallet = account?.wallets[0]
  if (account === undefined || wallet === undefined) throw new Error('The sandbox made no account.')
  const { accountId } = account
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    }
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    return sandbox.service.fetch(new Request(`${sandbox.url}${path}`, init))
  }
  return {
    token,
    accountId,
    walletId: wallet.addressId,
    async post(path, body) {
      const response = await call('POST', path, body)
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as Record<string, unknown>
    },
    async readEventIds() {
      const response = await call('GET', `/accounts/${accountId}/webhooks/deliveries`)
      const { deliveries } = (await response.json()) as { deliveries: { event_id: string }[] }
      return deliveries.map((one) => one.event_id)
    },
    own: (ids) => ({
      accountId,
      walletId: wallet.addressId,
      payeeId: ids['address_id']?.[1] ?? '',
      bankId: ids['address_id']?.[2] ?? '',
      transferId: ids['transfer_id']?.[0] ?? '',
      clientId: client.clientId,
      clientSecret: client.clientSecret,
      publicToken: ids['public_token']?.[0] ?? '',
    }),
    async snapshot() {
      const account = `/accounts/${accountId}`
      const paths = [
        '',
        '/addresses?type=external',
        '/transfers',
        '/balances',
        '/automations',
        '/webhooks',
        '/financial-institutions',
      ]
      return Promise.all(paths.map(async (path) => (await call('GET', `${account}${path}`)).text()))
    },
  }
}

async function signIn(sandbox: Sandbox, { clientId, clientSecret }: SeededClient): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const granted = await fetch(`${sandbox.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  return ((await granted.json()) as { access_token: string }).access_token
}

/** Gives a client one of everything, with `word` in every text. Returns the names. */
async function furnish(
  { accountId, walletId, post, readEventIds }: AttackClient,
  word: string,
): Promise<Record<string, string[]>> {
  const account = `/accounts/${accountId}`
  const id = async (path: string, body: unknown) => String((await post(`${account}${path}`, body))['id'])
  const postal = { street_line_1: `1 ${word} Street`, city: word, state: 'IL', zip: '62701' }
  const bank = {
    owner: `${word} Owner`,
    name: `${word} Bank`,
    account_number: '445566770077',
    routing_number: '021000021',
    account_type: 'checking',
    bank_address: postal,
    beneficiary_address: postal,
  }
  const payee = {
    name: `${word} Payee`,
    address: '0x52908400098527886E0F7030069857D2E4169EE7',
    transfer_types: ['base'],
  }
  const payeeId = await id('/addresses/external', payee)
  const bankId = await id('/addresses/external', { ...bank, transfer_types: ['wire', 'ach_debit'] })
  const destination = { address_id: walletId, value_type: 'USDC', transfer_type: 'base' }
  const webhook = await id('/webhooks', { url: `http://127.0.0.1:9/${word}`, event_types: ['transfer.created'] })
  const transfer = await id('/transfers', {
    amount: { value: '10', currency: 'USD' },
    source: { value_type: 'USD', transfer_type: 'wire' },
    destination,
    note: `${word} note`,
  })
  const automation = await id('/automations', {
    name: `${word} automation`,
    source: { value_type: 'USD' },
    destination,
  })
  const link = async () => String((await post(`${account}/banklink/link_token`, {}))['link_token'])
  const completed = await post(`/simulations/bank-links/${await link()}/complete`, {})
  const registration = { public_token: completed['public_token'] }
  const linked = await post(`${account}/financial-institutions/register-account`, registration)
  return {
    account_id: [accountId],
    address_id: [walletId, payeeId, bankId],
    transfer_id: [transfer],
    automation_id: [automation],
    subscription_id: [webhook],
    event_id: await readEventIds(),
    financial_institution_id: [bankId, String(linked['financial_institution_id'])],
    link_token: [await link()],
    public_token: [String(completed['public_token'])],
  }
}
