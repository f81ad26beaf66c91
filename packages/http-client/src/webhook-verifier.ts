import { type Catalog, type Clock, checkNumbers, OutlayError, type WebhookVerifier } from '@outlay/core'
import { readObservation, verifyWebhook } from './webhooks.ts'

/** How the engine's webhooks are verified. */
export interface HttpWebhooksOptions {
  /**
   * The secrets of an account's webhooks, for example from a vault; several while one replaces another. None, or an account
   * that is not known, makes every webhook a forgery.
   */
  readonly secrets: (
    accountId: string,
  ) => string | readonly string[] | undefined | Promise<string | readonly string[] | undefined>
  /** How far a timestamp may be from now, in either direction, in milliseconds. Default 300 000. */
  readonly toleranceMs?: number | undefined
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined
  /** Value types and transfer types in whose spelling transfers are read. Default: the catalog of core. */
  readonly catalog?: Catalog | undefined
}

/**
 * Makes what an engine verifies webhooks with: both schemes of {@link verifyWebhook}, and what they tell about transfers.
 *
 * @example
 * const webhooks = httpWebhooks({ secrets: (accountId) => vault.read(`${accountId}/webhook`) })
 * const engine = createEngine({ backend, gateway, webhooks })
 */
export function httpWebhooks(options: HttpWebhooksOptions): WebhookVerifier {
  checkNumbers({ toleranceMs: options.toleranceMs }, { toleranceMs: { min: 0 } })
  return {
    async verify({ body, headers }, accountId) {
      const given = (await options.secrets(accountId)) ?? []
      const secrets = typeof given === 'string' ? [given] : given
      if (secrets.length === 0) {
        const message = 'the webhook cannot be verified: there is no secret for the account; let secrets() find it'
        throw new OutlayError('webhook_signature_invalid', message)
      }
      const timing = { now: options.clock?.now(), toleranceMs: options.toleranceMs }
      return readObservation(verifyWebhook(body, headers, secrets, timing), options.catalog)
    },
  }
}
