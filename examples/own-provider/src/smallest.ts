import { type Gateway, type Observation, OutlayError } from '@outlay/core'

/** The bank's own refusals, which it decides behind the key. */
const refusals = new Map([
  ['unknown_payee', 'rejected'],
  ['not_enough_money', 'insufficient_balance'],
  ['key_reused', 'key_mismatch'],
] as const)
const statuses = { sent: 'processing', settled: 'complete', returned: 'failed' } as const

interface Payment {
  readonly id: string
  readonly state: keyof typeof statuses
  readonly changed_at: string
}
interface Answer extends Partial<Payment> {
  readonly error?: { readonly type: string; readonly message: string }
}

/** Pays by ACH through a bank that counts in cents and keeps keys for 24 hours. */
export function bankGateway({ baseUrl, apiKey }: { readonly baseUrl: string; readonly apiKey: string }): Gateway {
  const call = async (path: string, init: RequestInit) => {
    const headers = { authorization: `Key ${apiKey}`, ...init.headers }
    const answer = await fetch(baseUrl + path, { ...init, headers })
    const retryAfterMs = Number(answer.headers.get('retry-after')) * 1_000 || undefined
    return { ok: answer.ok, httpStatus: answer.status, retryAfterMs, body: (await answer.json()) as Answer }
  }
  return {
    keyLifetimeMs: 23 * 3_600_000,
    async submit({ idempotencyKey, request: { amount, destination, note } }, { signal, mayBegin }) {
      if (amount.currency !== 'USD' || destination.transferType !== 'ach_credit')
        return { outcome: 'rejected', code: 'unsupported', detail: 'The bank pays USD by ach_credit.' }
      const [dollars = '', cents = ''] = amount.value.split('.')
      const payment = { amount_cents: Number(dollars + cents.padEnd(2, '0')), to: destination.addressId, memo: note }
      if (signal.aborted || mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
      try {
        const headers = { 'idempotency-key': idempotencyKey }
        const sent = { method: 'POST', headers, body: JSON.stringify(payment), signal }
        const { ok, httpStatus, retryAfterMs, body } = await call('/payments', sent)
        if (ok && body.id !== undefined)
          return { outcome: 'accepted', remoteId: body.id, httpStatus, keyEvaluated: true }
        const { type = '', message = `HTTP ${httpStatus}` } = body.error ?? {}
        if (type === 'bad_key') return { outcome: 'unauthorized', detail: message, httpStatus }
        const outcome = refusals.get(type as never)
        if (outcome === undefined) return { outcome: 'unknown', detail: message, httpStatus, retryAfterMs }
        return { outcome, code: type, detail: message, httpStatus, keyEvaluated: true }
      } catch (error) {
        // No connection was made, so nothing was sent. Of anything else nobody knows.
        const { code } = (error as { readonly cause?: { readonly code?: string } }).cause ?? {}
        if (code === 'ECONNREFUSED' || code === 'ENOTFOUND')
          return { outcome: 'throttled', obstacle: 'unreachable', detail: `not sent: ${code}` }
        return { outcome: 'unknown', detail: String(error) }
      }
    },
    async get(_accountId, remoteId, { signal }) {
      const { ok, httpStatus, body } = await call(`/payments/${encodeURIComponent(remoteId)}`, { signal })
      if (httpStatus === 404 && body.error?.type === 'no_such_payment') return undefined
      if (!ok)
        throw new OutlayError('service_unavailable', `The bank answers with HTTP ${httpStatus}.`, {
          status: httpStatus,
        })
      return observe(body as Payment)
    },
  }
}

function observe({ id, state, changed_at: occurredAt }: Payment): Observation {
  const failure = { type: 'returned', code: 'returned', detail: 'It came back.', occurredAt, retriable: false } as const
  return {
    remoteId: id,
    status: statuses[state],
    reachedAt: occurredAt,
    failure: state === 'returned' ? failure : null,
  }
}
