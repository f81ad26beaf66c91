import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signInClient } from '../../test/client-caller.ts'
import { checkedFetch } from '../../test/contract.ts'
import { type GatedPool, gatedPool, statementSchedulers } from '../../test/gated-pool.ts'
import { inspect } from '../../test/inspection.ts'
import {
  bodyOf,
  end,
  furnishAccount,
  type Holding,
  holdings,
  type Model,
  type Plan,
  planned,
  type Real,
  refused,
  stalls,
  type TransferModel,
} from '../../test/ledger-model.ts'
import { modelRuns } from '../../test/model.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { createApp } from '../app.ts'
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts'
import { transfersRoutes } from '../transfers/routes.ts'

/** Longer than any wire lasts. */
const threeHours = 3 * 3_600

const database = await testDatabase()
let sandbox: Sandbox
let gate: GatedPool
let gatedFetch: (request: Request) => Promise<Response>
beforeAll(async () => {
  sandbox = await startSandbox({ databaseUrl: database.url, rateLimit: { perSecond: 1_000_000, burst: 1_000_000 } })
  const { context } = sandbox.service
  gate = gatedPool(context.pool)
  const gated = { ...context, pool: gate.pool, idempotencyWaitMs: 60_000 }
  gatedFetch = checkedFetch(createApp(gated, [transfersRoutes]).fetch)
})
afterAll(() => sandbox.stop())

async function open(scheduler: fc.Scheduler): Promise<Real> {
  const accounts = [{ businessName: 'Acme' }, { businessName: 'Beta' }]
  const client = await signInClient(sandbox, { name: 'Acme', accounts })
  const { accounts: made } = client.seeded
  const call = client.caller(checkedFetch(sandbox.service.fetch))
  const furnish = (at: 0 | 1) => furnishAccount(call, made, at)
  return { accounts: [await furnish(0), await furnish(1)], call, create: client.caller(gatedFetch), scheduler }
}

abstract class Command implements fc.AsyncCommand<Model, Real> {
  protected abstract apply(model: Model, real: Real): Promise<void>
  abstract toString(): string

  check(_model: Readonly<Model>): boolean {
    return true
  }

  async run(model: Model, real: Real): Promise<void> {
    await this.apply(model, real)
    await expectAsModelled(model, real)
  }
}

/** Creates transfers at once. Which of them a wallet can pay for is up to their order; the rest is not. */
class Create extends Command {
  readonly plans: readonly Plan[]

  constructor(plans: readonly Plan[]) {
    super()
    this.plans = plans
  }

  protected async apply(model: Model, real: Real): Promise<void> {
    const before = { ...model.available }
    const answers = await gate.under(real.scheduler, () =>
      Promise.all(
        this.plans.map(async (plan) => {
          const transfer = planned(plan)
          const path = `/accounts/${real.accounts[plan.at].accountId}/transfers`
          return { transfer, answer: await real.create(path, bodyOf(plan, transfer.cents, real)) }
        }),
      ),
    )
    const wanting = []
    for (const { transfer, answer } of answers) {
      if (answer.status !== 201) {
        expect([answer.status, answer.json['code']]).toEqual([422, 'insufficient_balance'])
        wanting.push(transfer)
        continue
      }
      const status = transfer.from === undefined ? 'waiting' : 'open'
      model.transfers.push({ ...transfer, id: String(answer.json['id']), status, returned: false })
      if (transfer.from === undefined) continue
      model.available[transfer.from] -= transfer.cents
      model.held[transfer.from] += transfer.cents
    }
    for (const holding of holdings) expect(model.available[holding]).toBeGreaterThanOrEqual(0)
    for (const { from, cents } of wanting) {
      // Money only left the wallet in the meantime: the refused amount exceeds the rest.
      const remains = from === undefined ? 0 : model.available[from]
      expect(cents, JSON.stringify(before)).toBeGreaterThan(remains)
    }
  }

  toString(): string {
    return `create(${this.plans.map((plan) => Object.values(plan).join(' ')).join(', ')})`
  }
}

/** Pays pesos with one quote, by several requests at once: one of them pays, if the wallet covers it. */
class Exchange extends Command {
  readonly at: 0 | 1
  readonly cents: number
  readonly writers: number

  constructor(at: 0 | 1, cents: number, writers: number) {
    super()
    this.at = at
    this.cents = cents
    this.writers = writers
  }

  protected async apply(model: Model, real: Real): Promise<void> {
    const { accountId, walletId, clabeId } = real.accounts[this.at]
    const amount = { value: (this.cents / 100).toFixed(2), currency: 'USDC' }
    const pair = { source: { value_type: 'USDC' }, destination: { value_type: 'MXN' } }
    const { json: quote } = await real.call(`/accounts/${accountId}/quotes`, { amount, ...pair })
    const body = {
      amount,
      source: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
      destination: { address_id: clabeId, value_type: 'MXN', transfer_type: 'spei' },
      quote_id: quote['id'],
    }
    const from: Holding = `${this.at} USDC`
    const isCovered = model.available[from] >= this.cents
    const answers = await gate.under(real.scheduler, () =>
      Promise.all(Array.from({ length: this.writers }, () => real.create(`/accounts/${accountId}/transfers`, body))),
    )
    const paid = answers.filter(({ status }) => status === 201)
    const lost = answers.filter(({ status }) => status !== 201)
    expect(paid).toHaveLength(isCovered ? 1 : 0)
    for (const { json } of lost) expect(json['code']).toBe(isCovered ? 'quote_used' : 'insufficient_balance')
    const centavos = Math.floor((this.cents * 37) / 2)
    expect(quote['destination_amount']).toEqual({ value: (centavos / 100).toFixed(2), currency: 'MXN' })
    if (!isCovered) return
    const transfer = { from, to: undefined, cents: this.cents, centavos, fate: 'settle' } as const
    model.transfers.push({ ...transfer, id: String(paid[0]?.json['id']), status: 'open', returned: false })
    model.available[from] -= this.cents
    model.held[from] += this.cents
  }

  toString(): string {
    return `exchange(${this.at} ${this.cents} by ${this.writers})`
  }
}

class Deposit extends Command {
  readonly at: 0 | 1
  readonly token: 'USDC' | 'SBC'
  readonly cents: number

  constructor(at: 0 | 1, token: 'USDC' | 'SBC', cents: number) {
    super()
    this.at = at
    this.token = token
    this.cents = cents
  }

  protected async apply(model: Model, { accounts, call }: Real): Promise<void> {
    const { accountId, walletId } = accounts[this.at]
    const wallet = { account_id: accountId, address_id: walletId, value_type: this.token, transfer_type: 'base' }
    const { status } = await call('/simulations/deposits', { ...wallet, amount: (this.cents / 100).toFixed(2) })
    expect(status).toBe(201)
    model.available[`${this.at} ${this.token}`] += this.cents
  }

  toString(): string {
    return `deposit(${this.at} ${this.token} ${this.cents})`
  }
}

/** Ends a transfer by hand: the one that stands at `pick` among those that it can happen to. */
class End extends Command {
  readonly ending: 'settle' | 'reject' | 'return'
  readonly pick: number

  constructor(ending: 'settle' | 'reject' | 'return', pick: number) {
    super()
    this.ending = ending
    this.pick = pick
  }

  private candidates(model: Readonly<Model>): readonly TransferModel[] {
    return model.transfers.filter(
      ({ status, from, to, returned }) =>
        status === 'open' || (this.ending === 'return' && status === 'complete' && from && !to && !returned),
    )
  }

  override check(model: Readonly<Model>): boolean {
    return this.candidates(model).length > 0
  }

  protected async apply(model: Model, real: Real): Promise<void> {
    const candidates = this.candidates(model)
    const transfer = candidates[this.pick % candidates.length]
    if (transfer === undefined) throw new Error('There is nothing to end.')
    if (transfer.status === 'open') await reach(real, transfer, 'processing')
    const path = `/simulations/transfers/${transfer.id}/${this.ending}`
    expect((await real.call(path, this.ending === 'return' ? { code: 'R01' } : {})).status).toBe(202)
    if (transfer.status === 'open') end(model, transfer, this.ending === 'settle' ? 'complete' : 'failed')
    else if (transfer.from !== undefined) {
      transfer.returned = true
      model.pesos -= transfer.centavos ?? 0
      model.available[transfer.from] += transfer.cents
    }
    // A payment ends once: a second end is refused, whether it is the same or another.
    const again = this.ending === 'return' && transfer.returned ? 'return' : 'settle'
    expect((await real.call(`/simulations/transfers/${transfer.id}/${again}`, { code: 'R01' })).status).toBe(409)
  }

  toString(): string {
    return `${this.ending}(${this.pick})`
  }
}

/** Simulates the arrival of the expected wires, if asked, and moves the clock until every wire has ended. */
class Advance extends Command {
  readonly wires: boolean

  constructor(wires: boolean) {
    super()
    this.wires = wires
  }

  protected async apply(model: Model, real: Real): Promise<void> {
    for (const transfer of model.transfers) {
      if (transfer.status === 'open') await reach(real, transfer, 'processing')
      if (transfer.status !== 'waiting' || !this.wires) continue
      expect((await real.call('/simulations/wires', { transfer_id: transfer.id })).status).toBe(202)
      transfer.status = 'open'
      await reach(real, transfer, 'processing')
    }
    expect((await real.call('/simulations/clock/advance', { seconds: threeHours })).status).toBe(200)
    for (const transfer of model.transfers) {
      if (transfer.status === 'open' && transfer.fate !== 'stall') {
        end(model, transfer, transfer.fate === 'settle' ? 'complete' : 'failed')
      }
    }
  }

  toString(): string {
    return this.wires ? 'advance(wires arrive)' : 'advance()'
  }
}

async function statuses({ accounts, call }: Real): Promise<ReadonlyMap<string, unknown>> {
  const pages = await Promise.all(
    accounts.map(({ accountId }) => call(`/accounts/${accountId}/transfers?page[size]=100`)),
  )
  const listed = pages.flatMap(({ json }) => json['transfers'] as { id: string; status: string }[])
  return new Map(listed.map(({ id, status }) => [id, status]))
}

function reach(real: Real, { id }: TransferModel, wanted: string): Promise<unknown> {
  return waitUntil(async () => (await statuses(real)).get(id) === wanted, {
    timeoutMs: 60_000,
    describe: `${id} to be ${wanted}`,
  })
}

/** Everything that holds between two commands. */
async function expectAsModelled(model: Model, real: Real): Promise<void> {
  let last: ReadonlyMap<string, unknown> = new Map()
  await waitUntil(
    async () => {
      last = await statuses(real)
      return model.transfers.every(
        ({ id, status }) => last.get(id) === status || (status !== 'complete' && status !== 'failed'),
      )
    },
    { timeoutMs: 60_000, describe: () => `${JSON.stringify(model.transfers)}, not ${JSON.stringify([...last])}` },
  )
  expect(new Set(last.keys())).toEqual(new Set(model.transfers.map(({ id }) => id)))
  const found: Record<string, unknown> = {}
  for (const at of [0, 1] as const) {
    const { accountId } = real.accounts[at]
    const { json } = await real.call(`/accounts/${accountId}/balances`)
    for (const one of json['balances'] as Record<'available' | 'balance', { value: string; currency: string }>[]) {
      const cents = ({ value }: { value: string }) => Math.round(Number(value) * 100)
      found[`${at} ${one.available.currency}`] = [cents(one.available), cents(one.balance)]
    }
  }
  for (const holding of holdings) {
    const available = model.available[holding]
    expect(found[holding] ?? [0, 0], holding).toEqual([available, available + model.held[holding]])
  }
  const { context } = sandbox.service
  await expectSoundLedger(context)
  // What one account does is seen beside what earlier ones did, so the pesos are those of the postings of this one.
  const { rows } = await inspect(context.pool).query(
    `select coalesce(-sum(e.amount) * 100, 0)::float as pesos
       from ${context.schema}.ledger_entry e
       join ${context.schema}.ledger_account a on a.id = e.ledger_account_id
       left join ${context.schema}.transfer_return r on r.id = e.posting_id
       join ${context.schema}.transfer t on t.id = coalesce(r.transfer_id, e.posting_id)
      where a.kind = 'exchange' and a.value_type = 'MXN' and t.account_id = any ($1)`,
    [real.accounts.map(({ accountId }) => accountId)],
  )
  expect(rows[0].pesos).toBeCloseTo(model.pesos, 3)
}

const at = fc.constantFrom(0 as const, 1 as const)
const token = fc.constantFrom('USDC' as const, 'SBC' as const)
const plan: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constantFrom('payout', 'swap', 'offramp', 'offramp', 'onramp'),
  at,
  token,
  cents: fc.oneof(fc.constantFrom(stalls, refused), fc.integer({ min: 1, max: 1_500_000 })),
})
const endings = fc.constantFrom('settle' as const, 'reject' as const, 'return' as const)
const deposits = fc.tuple(at, token, fc.integer({ min: 1, max: 2_000_000 }))
const commands = fc.commands(
  [
    fc.array(plan, { minLength: 1, maxLength: 4 }).map((plans) => new Create(plans)),
    fc.array(plan, { minLength: 1, maxLength: 4 }).map((plans) => new Create(plans)),
    fc
      .tuple(at, fc.integer({ min: 1, max: 1_500_000 }), fc.integer({ min: 1, max: 3 }))
      .map(([account, cents, writers]) => new Exchange(account, cents, writers)),
    deposits.map(([account, one, cents]) => new Deposit(account, one, cents)),
    fc.tuple(endings, fc.nat(7)).map(([ending, pick]) => new End(ending, pick)),
    fc.boolean().map((wires) => new Advance(wires)),
  ],
  { maxCommands: 14, size: 'max' },
)

const { parameters, timeoutMs } = modelRuns(6)

describe('the balances of the ledger', () => {
  it(
    'equal those of a model in memory, for creates, quotes, deposits, settlements, rejections and returns in any order',
    async () => {
      await fc.assert(
        fc.asyncProperty(commands, statementSchedulers(), async (sequence, scheduler) => {
          const real = await open(scheduler)
          const start = { '0 USDC': 2_000_000, '0 SBC': 0, '1 USDC': 0, '1 SBC': 700_000 }
          const model: Model = {
            available: { '0 USDC': 0, '0 SBC': 0, '1 USDC': 0, '1 SBC': 0 },
            held: { '0 USDC': 0, '0 SBC': 0, '1 USDC': 0, '1 SBC': 0 },
            transfers: [],
            pesos: 0,
          }
          await new Deposit(0, 'USDC', start['0 USDC']).run(model, real)
          await new Deposit(1, 'SBC', start['1 SBC']).run(model, real)
          await fc.asyncModelRun(() => ({ model, real }), sequence)
        }),
        parameters,
      )
    },
    timeoutMs,
  )
})
