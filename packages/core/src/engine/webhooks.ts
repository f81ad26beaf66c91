import { type ErrorCode, OutlayError } from '../error.ts'
import { atGateway, type GatewayAccount } from '../gateway-account.ts'
import type { ObservationPort, ObserveRules } from '../ports/observations.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { IncomingWebhook, WebhookVerifier } from '../ports/webhooks.ts'
import { CallGivenUp, callForeign } from './foreign-call.ts'
import { NotUnderstood } from './foreign-value.ts'
import { readObservation } from './observation.ts'

/** The result of a webhook: everything that a host needs to answer it, in any framework. */
export interface WebhookAnswer {
  /**
   * HTTP status to answer with. 200: accepted, also when it was repeated, late, or about another party's transfer. 400:
   * genuine, but it cannot be read. 401: not genuine, or signed too long ago. 503: another transaction has the transfer locked, so
   * the service has to send it again.
   */
  readonly status: 200 | 400 | 401 | 503
  /** Why it was refused; null when it was accepted. Never send it to the sender. */
  readonly code: ErrorCode | null
  /** Transfers that it changed: 1 for a new observation, 0 for anything else. */
  readonly changed: number
}

const refusals = {
  webhook_signature_invalid: 401,
  webhook_timestamp_out_of_tolerance: 401,
  unreadable_response: 400,
} as const satisfies Partial<Record<ErrorCode, WebhookAnswer['status']>>

/**
 * The same verifier, with a time limit and a check of its result.
 * @throws OutlayError `service_unavailable` when it does not answer in time; `unreadable_response` for an invalid observation
 */
export function foreignVerifier(
  verifier: WebhookVerifier,
  runtime: Pick<Runtime, 'timer' | 'logger'>,
  limitMs: number,
): WebhookVerifier {
  return {
    async verify(webhook, accountId) {
      try {
        const bounds = { call: 'verify', limitMs }
        const seen = await callForeign<unknown>(runtime, bounds, () => verifier.verify(webhook, accountId))
        return seen === undefined ? undefined : readObservation(seen)
      } catch (error) {
        if (error instanceof NotUnderstood) {
          throw new OutlayError(
            'unreadable_response',
            `The verifier returned an invalid observation: ${error.message}.`,
          )
        }
        if (!(error instanceof CallGivenUp)) throw error
        const message = `The webhook was not verified within ${limitMs} ms; the service has to send it again.`
        throw new OutlayError('service_unavailable', message)
      }
    },
  }
}

/**
 * The verifier of each gateway: one for all, or one each, by name. Each is passed through `guard`.
 * @throws OutlayError `invalid_request` with the field for what verifies nothing, or for a name that is no gateway's
 */
export function readVerifiers(
  webhooks: WebhookVerifier | Readonly<Record<string, WebhookVerifier>> | undefined,
  names: readonly string[],
  guard: (verifier: WebhookVerifier) => WebhookVerifier,
): ((gateway: string) => WebhookVerifier) | undefined {
  if (webhooks === undefined) return undefined
  if (isVerifier(webhooks)) {
    const forAll = guard(webhooks)
    return () => forAll
  }
  const named = typeof webhooks === 'object' && webhooks !== null ? Object.entries(webhooks) : []
  if (named.length === 0) throw refuse('webhooks', 'must be a verifier, or an object of verifiers by gateway')
  for (const [name, verifier] of named) {
    if (!names.includes(name)) throw refuse(`webhooks.${name}`, `is no gateway; there are ${names.join(', ')}`)
    if (!isVerifier(verifier)) throw refuse(`webhooks.${name}`, 'must be a verifier, with a function verify')
  }
  const byName = new Map(named.map(([name, verifier]) => [name, guard(verifier)]))
  return (gateway) => {
    const verifier = byName.get(gateway)
    if (verifier !== undefined) return verifier
    throw new Error(`Give createEngine() \`webhooks\` for the gateway "${gateway}" to receive its webhooks.`)
  }
}

const isVerifier = (webhooks: unknown): webhooks is WebhookVerifier =>
  typeof (webhooks as Partial<WebhookVerifier> | null)?.verify === 'function'

const refuse = (field: string, message: string) => OutlayError.fromIssues([{ field, code: 'invalid_request', message }])

/** Verifies a webhook and applies its observation, in a transaction of its own that waits for no other. */
export async function receiveWebhook<Tx>(
  backend: Pick<ObservationPort<Tx>, 'receive'>,
  verifier: WebhookVerifier,
  webhook: IncomingWebhook,
  at: GatewayAccount,
  rules: ObserveRules,
): Promise<WebhookAnswer> {
  try {
    const observation = await verifier.verify(webhook, at.accountId)
    if (observation === undefined) return { status: 200, code: null, changed: 0 }
    const changed = await backend.receive(atGateway(at), observation, rules)
    return changed === undefined ? { status: 503, code: 'conflict', changed: 0 } : { status: 200, code: null, changed }
  } catch (error) {
    for (const [code, status] of Object.entries(refusals) as [keyof typeof refusals, 400 | 401][]) {
      if (OutlayError.is(error, code)) return { status, code, changed: 0 }
    }
    throw error
  }
}
