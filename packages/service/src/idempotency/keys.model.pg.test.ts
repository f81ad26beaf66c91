import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClientCall, signInClient } from '../../test/client-caller.ts'
import { checkedFetch } from '../../test/contract.ts'
import { type GatedPool, gatedPool, statementSchedulers } from '../../test/gated-pool.ts'
import { modelRuns, ordersOf } from '../../test/model.ts'
import { sampleClabe } from '../../test/quotes.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { createApp } from '../app.ts'
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts'
import { transfersRoutes } from '../transfers/routes.ts'

const stalls = 666_004
/** What a body asks for, in cents. `quoted` uses the one quote of its client, `broken` names an unknown address, `malformed` is not JSON. */
const costs = {
  first: stalls,
  second: stalls,
  quoted: stalls,
  greedy: 10 * stalls,
  broken: stalls,
  malformed: 0,
} as const
type BodyName = keyof typeof costs

/** A create that is about to be sent. */
interface Ask {
  readonly client: 0 | 1
  readonly process: 0 | 1
  readonly key: string
  readonly body: BodyName
  readonly path: 'transfers' | 'transfer'
  /** Spells key and body in another way that means the same. */
  readonly respelt: boolean
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly code: string | undefined
  readonly replayed: boolean
}

/** What the service has to know of one client. */
interface ClientModel {
  availableCents: number
  heldCents: number
  isQuoteUsed: boolean
  /** Per key what was asked under it, and the answer that stays. */
  readonly keys: Map<string, { readonly asked: string; readonly status: number; readonly text: string }>
  readonly open: string[]
  readonly ids: Set<string>
}

interface Client {
  readonly clientId: string
  readonly token: string
  readonly accountId: string
  readonly walletId: string
  readonly payeeId: string
  /** A bank account for pesos, and a quote for them. */
  readonly clabeId: string
  readonly quoteId: string
  readonly call: ClientCall
}

interface Real {
  readonly clients: readonly [Client, Client]
  readonly scheduler: fc.Scheduler
}

type Model = readonly [ClientModel, ClientModel]

const database = await testDatabase()
let sandbox: Sandbox
let gate: GatedPool
let processes: readonly ((request: Request) => Promise<Response>)[]
beforeAll(async () => {
  sandbox = await startSandbox({ databaseUrl: database.url, rateLimit: { perSecond: 1_000_000, burst: 1_000_000 } })
  const { context } = sandbox.service
  gate = gatedPool(context.pool)
  const gated = { ...context, pool: gate.pool, idempotencyWaitMs: 60_000 }
  processes = [1, 2].map(() => checkedFetch(createApp(gated, [transfersRoutes]).fetch))
})
afterAll(() => sandbox.stop())

async function openClient(funds: number): Promise<Client> {
  const amount = (funds / 100).toFixed(2)
  const accounts = [{ businessName: 'Acme', funds: [{ valueType: 'USDC', transferType: 'base', amount }] }]
  const client = await signInClient(sandbox, { name: 'Acme', accounts })
  const [made] = client.seeded.accounts
  const accountId = made?.accountId ?? ''
  const call = client.caller()
  const payee = { name: 'Payee', address: '0x52908400098527886E0F7030069857D2E4169EE7', transfer_types: ['base'] }
  const { json } = await call(`/accounts/${accountId}/addresses/external`, payee)
  const { json: clabe } = await call(`/accounts/${accountId}/addresses/external`, sampleClabe)
  const { json: quote } = await call(`/accounts/${accountId}/quotes`, {
    amount: { value: (stalls / 100).toFixed(2), currency: 'USDC' },
    source: { value_type: 'USDC' },
    destination: { value_type: 'MXN' },
  })
  const { clientId } = client.seeded
  const walletId = made?.wallets[0]?.addressId ?? ''
  const ids = { payeeId: String(json['id']), clabeId: String(clabe['id']), quoteId: String(quote['id']) }
  return { clientId, token: client.token, accountId, walletId, ...ids, call }
}

const pesosOf = ({ clabeId, quoteId }: Client) => ({
  destination: { address_id: clabeId, value_type: 'MXN', transfer_type: 'spei' },
  quote_id: quoteId,
})

async function send(client: Client, ask: Ask): Promise<Answer> {
  const leg = { value_type: 'USDC', transfer_type: 'base' }
  const amount = { value: (costs[ask.body] / 100).toFixed(2), currency: 'USDC' }
  const payeeId = ask.body === 'broken' ? '01KA0000000000000000000000' : client.payeeId
  const members = Object.entries({
    amount,
    source: { address_id: client.walletId, ...leg },
    destination: { address_id: payeeId, ...leg },
    note: ask.body,
    ...(ask.body === 'quoted' ? pesosOf(client) : {}),
  })
  const spelt = Object.fromEntries(ask.respelt ? members.reverse() : members)
  const text = ask.body === 'malformed' ? '{"amount"' : JSON.stringify(spelt, null, ask.respelt ? 1 : 0)
  const response = await processes[ask.process]?.(
    new Request(`http://service/accounts/${client.accountId}/${ask.path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${client.token}`,
        'content-type': 'application/json',
        'idempotency-key': ask.respelt ? `"${ask.key}"` : ask.key,
      },
      body: text,
    }),
  )
  if (response === undefined) throw new Error('There is no such process.')
  const answer = await response.text()
  const { code } = JSON.parse(answer) as { code?: string }
  const replayed = response.headers.get('idempotent-replayed') === 'true'
  return { status: response.status, text: answer, code, replayed }
}

/** Applies one answer to the model; false when the model would have answered differently. */
function apply(model: ClientModel, ask: Ask, answer: Answer): boolean {
  const { status, text, code, replayed } = answer
  if (ask.body === 'malformed') return status === 400 && !replayed
  const asked = `${ask.path} ${ask.body}`
  const known = model.keys.get(ask.key)
  if (known !== undefined && known.asked !== asked)
    return status === 422 && code === 'idempotency_key_mismatch' && !replayed
  if (known !== undefined) return replayed && status === known.status && text === known.text
  if (replayed) return false
  const cost = costs[ask.body]
  if (ask.body === 'broken') {
    if (status !== 422 || code !== 'invalid_address') return false
  } else if (ask.body === 'quoted' && model.isQuoteUsed) {
    if (status !== 422 || code !== 'quote_used') return false
  } else if (cost > model.availableCents) return status === 422 && code === 'insufficient_balance'
  else {
    if (status !== 201) return false
    const { id } = JSON.parse(text) as { id: string }
    model.availableCents -= cost
    model.heldCents += cost
    model.isQuoteUsed ||= ask.body === 'quoted'
    model.open.push(id)
    model.ids.add(id)
  }
  model.keys.set(ask.key, { asked, status, text })
  return true
}

function copyOf(one: ClientModel): ClientModel {
  return { ...one, keys: new Map(one.keys), open: [...one.open], ids: new Set(one.ids) }
}

/** Sends creates at once, and finds an order in which the model gives the same answers. */
class Together implements fc.AsyncCommand<Model, Real> {
  readonly asks: readonly Ask[]

  constructor(asks: readonly Ask[]) {
    this.asks = asks
  }

  check(): boolean {
    return true
  }

  async run(model: Model, { clients, scheduler }: Real): Promise<void> {
    const answers = await gate.under(scheduler, () =>
      Promise.all(this.asks.map(async (ask) => ({ ask, answer: await send(clients[ask.client], ask) }))),
    )
    for (const order of ordersOf(answers)) {
      const tried = model.map(copyOf) as [ClientModel, ClientModel]
      if (order.every(({ ask, answer }) => apply(tried[ask.client], ask, answer))) {
        for (const at of [0, 1] as const) Object.assign(model[at], tried[at])
        return
      }
    }
    throw new Error(`No order of these requests explains their answers: ${JSON.stringify(answers)}`)
  }

  toString(): string {
    return `together(${this.asks.map((ask) => Object.values(ask).join(' ')).join(', ')})`
  }
}

class Deposit implements fc.AsyncCommand<Model, Real> {
  readonly client: 0 | 1

  constructor(client: 0 | 1) {
    this.client = client
  }

  check(): boolean {
    return true
  }

  async run(model: Model, { clients }: Real): Promise<void> {
    const { accountId, walletId, call } = clients[this.client]
    const value = (stalls / 100).toFixed(2)
    const wallet = { account_id: accountId, address_id: walletId, value_type: 'USDC', transfer_type: 'base' }
    const { status } = await call('/simulations/deposits', { ...wallet, amount: { value, currency: 'USDC' } })
    expect(status).toBe(201)
    model[this.client].availableCents += stalls
  }

  toString(): string {
    return `deposit(${this.client})`
  }
}

/** Settles or rejects the oldest open transfer, after which replays still give the first answer. */
class End implements fc.AsyncCommand<Model, Real> {
  readonly client: 0 | 1
  readonly ending: 'settle' | 'reject'

  constructor(client: 0 | 1, ending: 'settle' | 'reject') {
    this.client = client
    this.ending = ending
  }

  check(model: Readonly<Model>): boolean {
    return model[this.client].open.length > 0
  }

  async run(model: Model, { clients }: Real): Promise<void> {
    const { accountId, call } = clients[this.client]
    const own = model[this.client]
    const id = own.open.shift() ?? ''
    const reach = (wanted: string) =>
      waitUntil(async () => (await call(`/accounts/${accountId}/transfers/${id}`)).json['status'] === wanted)
    await reach('processing')
    expect((await call(`/simulations/transfers/${id}/${this.ending}`, {})).status).toBe(202)
    await reach(this.ending === 'settle' ? 'complete' : 'failed')
    own.heldCents -= stalls
    if (this.ending === 'reject') own.availableCents += stalls
  }

  toString(): string {
    return `${this.ending}(${this.client})`
  }
}

/** Everything that holds between two commands. */
async function expectAsModelled(model: Model, { clients }: Real): Promise<void> {
  const { pool, schema } = sandbox.service.context
  for (const at of [0, 1] as const) {
    const [own, client] = [model[at], clients[at]]
    const wallet = `/accounts/${client.accountId}/addresses/${client.walletId}/balance`
    const { json: balance } = await client.call(`${wallet}?value_type=USDC&transfer_type=base`)
    const cents = (name: string) => Math.round(Number((balance[name] as { value: string }).value) * 100)
    expect([cents('available'), cents('balance')]).toEqual([own.availableCents, own.availableCents + own.heldCents])
    const { json: listed } = await client.call(`/accounts/${client.accountId}/transfers?page[size]=100`)
    expect(new Set((listed['transfers'] as { id: string }[]).map(({ id }) => id))).toEqual(own.ids)
    const { rows } = await pool.query(
      `select idempotency_key as key, response_status as status, response_body as text
         from ${schema}.idempotency_key where client_id = $1 and idempotency_key ~ '^[KL]$'`,
      [client.clientId],
    )
    const stored = new Map(rows.map(({ key, status, text }) => [key, { status, text }]))
    expect(stored).toEqual(new Map([...own.keys].map(([key, { status, text }]) => [key, { status, text }])))
  }
  await expectSoundLedger(sandbox.service.context)
}

const checked = <C extends fc.AsyncCommand<Model, Real>>(command: C): C => {
  const run = command.run.bind(command)
  command.run = async (model, real) => {
    await run(model, real)
    await expectAsModelled(model, real)
  }
  return command
}

const side = fc.constantFrom(0 as const, 1 as const)
const ask: fc.Arbitrary<Ask> = fc.record({
  client: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0 as const) },
    { weight: 1, arbitrary: fc.constant(1 as const) },
  ),
  process: side,
  key: fc.constantFrom('K', 'L'),
  body: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('first' as const, 'second' as const) },
    { weight: 4, arbitrary: fc.constant('quoted' as const) },
    { weight: 2, arbitrary: fc.constantFrom('greedy' as const, 'broken' as const, 'malformed' as const) },
  ),
  path: fc.oneof(
    { weight: 5, arbitrary: fc.constant('transfers' as const) },
    { weight: 1, arbitrary: fc.constant('transfer' as const) },
  ),
  respelt: fc.boolean(),
})
const commands = fc.commands(
  [
    fc.array(ask, { minLength: 1, maxLength: 4 }).map((asks) => checked(new Together(asks))),
    fc.array(ask, { minLength: 1, maxLength: 4 }).map((asks) => checked(new Together(asks))),
    side.map((client) => checked(new Deposit(client))),
    fc
      .record({ client: side, ending: fc.constantFrom('settle' as const, 'reject' as const) })
      .map(({ client, ending }) => checked(new End(client, ending))),
  ],
  { maxCommands: 14, size: 'max' },
)

const { parameters, timeoutMs } = modelRuns(8)

describe('the answers under idempotency keys', () => {
  it(
    'equal those of a model in memory, for any order of the statements of concurrent requests',
    async () => {
      await fc.assert(
        fc.asyncProperty(commands, statementSchedulers(), async (sequence, scheduler) => {
          const funds = 3 * stalls
          const clients: readonly [Client, Client] = [await openClient(funds), await openClient(stalls)]
          const modelOf = (availableCents: number): ClientModel => ({
            availableCents,
            heldCents: 0,
            isQuoteUsed: false,
            keys: new Map(),
            open: [],
            ids: new Set(),
          })
          const model: Model = [modelOf(funds), modelOf(stalls)]
          await fc.asyncModelRun(() => ({ model, real: { clients, scheduler } }), sequence)
        }),
        parameters,
      )
    },
    timeoutMs,
  )
})
