import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Gateway, type Observation, OutlayError, type SubmitResult, type WebhookVerifier } from '@outlay/core'
import { Decimal } from 'decimal.js'

/** A payment as Northbank shows it. */
export interface Payment {
  readonly id: string
  readonly amount_cents: number
  readonly to: string
  readonly memo?: string | undefined
  readonly state: 'sent' | 'settled' | 'returned'
  readonly changed_at: string
  /** Absent where it has not settled. It stays on a payment that is returned later. */
  readonly settled_at?: string | undefined
  /** Why the payee's bank returned it. */
  readonly return_code?: string | undefined
}

/** Northbank's refusals of a payment that are for good, or for want of money. It checks the key before it decides any of them. */
const refusals: Readonly<Record<string, 'rejected' | 'insufficient_balance' | 'key_mismatch'>> = {
  unknown_payee: 'rejected',
  not_enough_money: 'insufficient_balance',
  key_reused: 'key_mismatch',
}

const statuses = { sent: 'processing', settled: 'complete', returned: 'failed' } as const

const currency = 'USD'

/** Pays through Northbank, by ACH. */
export function northbankGateway({ baseUrl, apiKey }: { readonly baseUrl: string; readonly apiKey: string }): Gateway {
  const call = (path: string, init: RequestInit) =>
    fetch(baseUrl + path, { ...init, headers: { authorization: `Key ${apiKey}`, ...init.headers } })
  const read = async (path: string, signal: AbortSignal) => {
    const answer = await call(path, { signal })
    // A provider's JSON: what is wrong in it throws, and then the engine asks again.
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  }
  return {
    // Northbank keeps keys for 24 hours; an hour is for clocks and slow requests.
    keyLifetimeMs: 23 * 3_600_000,
    // So the engine reads complete payments at a slow rate, and finds returns that no webhook reported.
    reportsReturns: true,
    async submit({ idempotencyKey, request }, { signal, mayBegin }): Promise<SubmitResult> {
      const amount_cents = new Decimal(request.amount.value).times(100).toNumber()
      if (!Number.isSafeInteger(amount_cents) || request.destination.transferType !== 'ach_credit') {
        return { outcome: 'rejected', code: 'unsupported', detail: 'Northbank pays whole cents by ach_credit.' }
      }
      if (signal.aborted || mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
      const body = JSON.stringify({ amount_cents, to: request.destination.addressId, memo: request.note })
      try {
        const answer = await call('/payments', {
          method: 'POST',
          signal,
          body,
          headers: { 'idempotency-key': idempotencyKey },
        })
        return readAnswer(answer.status, await answer.text(), answer.headers.get('retry-after'))
      } catch (error) {
        return { outcome: 'unknown', detail: error instanceof Error ? error.message : String(error) }
      }
    },
    async get(_accountId, remoteId, { signal }) {
      const { status, body } = await read(`/payments/${encodeURIComponent(remoteId)}`, signal)
      if (status === 404 && body.error?.type === 'no_such_payment') return undefined
      if (status !== 200)
        throw new OutlayError('service_unavailable', `Northbank answers with HTTP ${status}.`, { status })
      return observe(body)
    },
    async list(_accountId, { cursor, limit, signal }) {
      const query = new URLSearchParams({ count: `${limit}`, ...(cursor === undefined ? {} : { before: cursor }) })
      const { status, body } = await read(`/payments?${query}`, signal)
      if (status !== 200)
        throw new OutlayError('service_unavailable', `Northbank answers with HTTP ${status}.`, { status })
      const observations: Observation[] = body.items.map(observe)
      return { observations, next: observations.length < limit ? undefined : observations.at(-1)?.remoteId }
    },
  }
}

/** Whatever is not certainly Northbank's own refusal is unknown: the payment may have been made. */
function readAnswer(httpStatus: number, text: string, retryAfter: string | null): SubmitResult {
  const retryAfterMs = Number.parseInt(retryAfter ?? '', 10) * 1_000 || undefined
  const detail = `HTTP ${httpStatus}`
  const body = parse(text)
  if (httpStatus < 300 && typeof body?.id === 'string') {
    return { outcome: 'accepted', remoteId: body.id, observation: observe(body), httpStatus, keyEvaluated: true }
  }
  const { type = '', message = detail } = body?.error ?? {}
  const outcome = refusals[type]
  if (outcome === undefined) return { outcome: 'unknown', detail, retryAfterMs, httpStatus }
  return { outcome, code: type, detail: message, httpStatus, keyEvaluated: true }
}

const parse = (text: string): (Payment & { error?: { type: string; message: string } }) | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A payment that comes back before it settles has failed. One that had settled was made, and stays complete: what came back is beside it. */
const observe = ({ id, amount_cents, state, changed_at, settled_at, return_code }: Payment): Observation => {
  const code = return_code ?? 'unknown'
  if (state === 'returned' && settled_at !== undefined) {
    const amount = { value: new Decimal(amount_cents).div(100).toFixed(2), currency }
    const returns = [{ code, amount, occurredAt: changed_at }]
    return { remoteId: id, status: 'complete', reachedAt: settled_at, failure: null, returns }
  }
  const detail = `The bank of the payee returned it: ${code}.`
  const failure = { type: 'returned' as const, code, detail, occurredAt: changed_at, retriable: false }
  return {
    remoteId: id,
    status: statuses[state],
    reachedAt: changed_at,
    failure: state === 'returned' ? failure : null,
  }
}

/** Reads Northbank's webhooks: base64 HMAC-SHA512 of the time in seconds, a line break and the body. */
export function northbankWebhooks({ key }: { readonly key: string }): WebhookVerifier {
  return {
    async verify({ body, headers }) {
      const header = (name: string) =>
        `${('get' in headers && typeof headers.get === 'function' ? headers.get(name) : (headers as Record<string, unknown>)[name]) ?? ''}`
      const at = header('northbank-time')
      const expected = createHmac('sha512', key).update(`${at}\n`).update(body).digest()
      const given = Buffer.from(header('northbank-mac'), 'base64')
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new OutlayError('webhook_signature_invalid', 'This webhook is not of Northbank.')
      }
      if (!(Math.abs(Date.now() / 1_000 - Number(at)) < 300)) {
        throw new OutlayError('webhook_timestamp_out_of_tolerance', 'This webhook is too old.')
      }
      const { kind, payment } = JSON.parse(Buffer.from(body).toString()) as { kind: string; payment: Payment }
      return kind === 'payment' ? observe(payment) : undefined
    },
  }
}
