import type { Observation } from './gateway.ts'

/** Headers of a request in any of the shapes that servers give them in. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** A webhook as it came in. */
export interface IncomingWebhook {
  /** The octets that came, or their text; never a body that was parsed and written again. */
  readonly body: string | Uint8Array
  readonly headers: WebhookHeaders
}

/** Knows the other side's webhooks: who may send them, and what they say. */
export interface WebhookVerifier {
  /**
   * Verifies a webhook that claims to be about an account, and reads what it tells about a transfer; `undefined` when it is
   * about something else, or tells too little.
   *
   * @throws OutlayError `webhook_signature_invalid`; `webhook_timestamp_out_of_tolerance` for a genuine one that is too old
   *   or too new; `unreadable_response` for a genuine one that cannot be read. What a vault throws is passed on.
   */
  verify(webhook: IncomingWebhook, accountId: string): Promise<Observation | undefined>
}
