import type { QuoteResource } from '../src/quotes/quotes.ts'
import type { TransferResource } from '../src/transfers/view.ts'
import { signInClient } from './client-caller.ts'
import { checkedFetch } from './contract.ts'
import { inspect } from './inspection.ts'
import type { TestAnswer, TestCall, TestSandbox } from './sandbox.ts'

/** Body of a refusal. */
export interface QuoteRefusal {
  readonly code?: string
  readonly detail?: string
  readonly errors?: readonly { readonly source?: { readonly pointer?: string } }[]
}

/** Calls about quotes of the first account of a sandbox, and transfers of USDC to pesos with them. */
export interface TestQuotes {
  /** Of USDC to MXN, for an amount of either; by default for 100 USDC. */
  ask(amount?: object, call?: Omit<TestCall, 'body'>): Promise<TestAnswer<QuoteResource & QuoteRefusal>>
  get(id: string): Promise<QuoteResource>
  /** The bank account that gets the pesos. */
  addClabe(): Promise<string>
  /** Pays the pesos of a quote to the bank account; `body` is merged over a body that is right. */
  pay(
    quote: QuoteResource,
    body?: object,
    call?: Omit<TestCall, 'body'>,
  ): Promise<TestAnswer<TransferResource & QuoteRefusal>>
  /** What the exchange accounts have, by value type, as numbers. */
  exchange(): Promise<Readonly<Record<string, number>>>
}

const postal = { street_line_1: 'Avenida Uno 1', city: 'Monterrey', state: 'NL', zip: '64000' }

/** A body that registers a bank account for pesos. */
export const sampleClabe = {
  owner: 'Ana Ruiz',
  name: 'Ana',
  account_number: '032180000118359719',
  account_type: 'checking',
  bank_address: postal,
  beneficiary_address: postal,
  transfer_types: ['spei'],
}

/** Makes the calls. */
export function testQuotes(api: TestSandbox): TestQuotes {
  const path = `/accounts/${api.accountId}`
  let clabe: Promise<string> | undefined
  const calls: TestQuotes = {
    ask: (amount = { value: '100', currency: 'USDC' }, call = {}) =>
      api.call('POST', `${path}/quotes`, {
        ...call,
        body: { amount, source: { value_type: 'USDC' }, destination: { value_type: 'MXN' } },
      }),
    get: async (id) => (await api.call<QuoteResource>('GET', `${path}/quotes/${id}`)).body,
    addClabe: () =>
      (clabe ??= api
        .call<{ id: string }>('POST', `${path}/addresses/external`, { body: sampleClabe })
        .then(({ body }) => body.id)),
    async pay(quote, body = {}, call = {}) {
      const transfer = {
        amount: quote.fixed_side === 'source' ? quote.source_amount : quote.destination_amount,
        source: { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' },
        destination: { address_id: await calls.addClabe(), value_type: 'MXN', transfer_type: 'spei' },
        quote_id: quote.id,
      }
      return await api.call('POST', `${path}/transfers`, { ...call, body: { ...transfer, ...body } })
    },
    async exchange() {
      const { pool, schema } = api.sandbox.service.context
      const { rows } = await inspect(pool).query(
        `select value_type, entries_available::float as sum from ${schema}.ledger_balance where kind = 'exchange'`,
      )
      return Object.fromEntries(rows.map(({ value_type, sum }) => [value_type, sum]))
    },
  }
  return calls
}

/** Another client of a sandbox with a wallet that has USDC, and its calls about quotes to pesos. */
export async function signInPayer(sandbox: TestSandbox['sandbox']) {
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: '5000' }]
  const client = await signInClient(sandbox, { name: 'Other', accounts: [{ businessName: 'Other', funds }] })
  const accountId = client.seeded.accounts[0]?.accountId ?? ''
  const walletId = client.seeded.accounts[0]?.wallets[0]?.addressId
  const call = client.caller(checkedFetch(sandbox.service.fetch))
  const payee = await call(`/accounts/${accountId}/addresses/external`, sampleClabe)
  return {
    accountId,
    walletId,
    async ask(amount: object) {
      const body = { amount, source: { value_type: 'USDC' }, destination: { value_type: 'MXN' } }
      const { json } = await call(`/accounts/${accountId}/quotes`, body)
      return json as unknown as QuoteResource
    },
    pay: (quote: QuoteResource, send = sandbox.service.fetch) =>
      client.caller(checkedFetch(send))(`/accounts/${accountId}/transfers`, {
        amount: quote.fixed_side === 'source' ? quote.source_amount : quote.destination_amount,
        source: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
        destination: { address_id: payee.json['id'], value_type: 'MXN', transfer_type: 'spei' },
        quote_id: quote.id,
      }),
  }
}
