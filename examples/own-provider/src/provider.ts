import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Payment } from './northbank.ts'

/** What a key was first used for, and when. */
interface UsedKey {
  readonly body: string
  readonly payment: Payment
  readonly at: number
}

/** A bank with an API of its own: ACH only, cents as integers, keys for 24 hours, webhooks signed in its own way. */
export interface Northbank extends AsyncDisposable {
  readonly url: string
  /** Its record: payments, oldest first, and the balance in cents. */
  readonly books: Books
  /** Settles or returns a payment, and sends the webhook where one is registered. */
  end(id: string, state: 'settled' | 'returned'): Promise<void>
  /** Where webhooks go. */
  webhookUrl: string | undefined
}

const dayMs = 24 * 3_600_000

/** The bank's own record of payments, oldest first, and of keys. */
class Books {
  readonly payments: Payment[] = []
  /** In cents. */
  balance: number
  readonly #keys = new Map<string, UsedKey>()

  constructor(balance: number) {
    this.balance = balance
  }

  create(key: string, body: string): [number, unknown] {
    const used = this.#keys.get(key)
    if (used !== undefined && Date.now() - used.at < dayMs) {
      return used.body === body
        ? [200, used.payment]
        : [409, error('key_reused', 'The key belongs to another payment.')]
    }
    const { amount_cents, to, memo } = JSON.parse(body) as { amount_cents: number; to: string; memo?: string }
    if (!to.startsWith('payee_')) return [422, error('unknown_payee', `There is no payee ${to}.`)]
    if (amount_cents > this.balance) return [402, error('not_enough_money', 'The balance is too low.')]
    const id = `pay_${randomUUID()}`
    const payment: Payment = { id, amount_cents, to, memo, state: 'sent', changed_at: new Date().toISOString() }
    this.balance -= amount_cents
    this.payments.push(payment)
    this.#keys.set(key, { body, payment, at: Date.now() })
    return [201, payment]
  }

  end(id: string, state: 'settled' | 'returned'): Payment {
    const at = this.payments.findIndex((one) => one.id === id)
    const payment = this.payments[at]
    if (payment === undefined) throw new Error(`There is no payment ${id}.`)
    const now = new Date().toISOString()
    const marks = state === 'settled' ? { settled_at: now } : { return_code: 'R03' }
    const ended: Payment = { ...payment, ...marks, state, changed_at: now }
    if (state === 'returned') this.balance += payment.amount_cents
    this.payments[at] = ended
    return ended
  }

  page(query: URLSearchParams): readonly Payment[] {
    const newest = this.payments.toReversed()
    const from = newest.findIndex(({ id }) => id === query.get('before')) + 1
    return newest.slice(from, from + Number(query.get('count') ?? 100))
  }
}

/** Starts the bank on a free port of 127.0.0.1. Money that it does not have it does not send. */
export async function startNorthbank(options: {
  readonly apiKey: string
  readonly webhookKey: string
  readonly balance: number
}): Promise<Northbank> {
  const books = new Books(options.balance)
  const answer = async (request: IncomingMessage): Promise<[number, unknown]> => {
    if (request.headers.authorization !== `Key ${options.apiKey}`) return [401, error('bad_key', 'Who are you?')]
    const url = new URL(request.url ?? '/', bank.url)
    const [, payment] = /^\/payments\/(.+)$/.exec(url.pathname) ?? []
    if (request.method === 'POST') return books.create(String(request.headers['idempotency-key']), await text(request))
    if (payment === undefined) return [200, { items: books.page(url.searchParams) }]
    const found = books.payments.find(({ id }) => id === payment)
    return found === undefined ? [404, error('no_such_payment', payment)] : [200, found]
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [status, body] = await answer(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const bank: Northbank = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    books,
    webhookUrl: undefined,
    async end(id, state) {
      const ended = books.end(id, state)
      if (bank.webhookUrl === undefined) return
      const body = JSON.stringify({ kind: 'payment', payment: ended })
      const seconds = `${Math.floor(Date.now() / 1_000)}`
      const mac = createHmac('sha512', options.webhookKey).update(`${seconds}\n${body}`).digest('base64')
      const headers = { 'northbank-time': seconds, 'northbank-mac': mac }
      await fetch(bank.webhookUrl, { method: 'POST', headers, body })
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return bank
}

const error = (type: string, message: string) => ({ error: { type, message } })
