import type { Observation } from './gateway.ts'

/** Headers of a request, in the shapes that servers use. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** A webhook as it was received. */
export interface IncomingWebhook {
  /** The octets received, or their text; never a body that was parsed and serialized again. */
  readonly body: string | Uint8Array
  readonly headers: WebhookHeaders
}

/** Verifies and reads the other side's webhooks. */
export interface WebhookVerifier {
  /**
   * Verifies a webhook for an account, and reads the observation of a transfer in it; `undefined` when the webhook is about
   * something else, or says too little.
   *
   * @throws OutlayError `webhook_signature_invalid`; `webhook_timestamp_out_of_tolerance` for a genuine one that is too old or
   *   too new; `unreadable_response` for a genuine one that cannot be read. What a vault throws is passed on.
   */
  verify(webhook: IncomingWebhook, accountId: string): Promise<Observation | undefined>
}
