import { type Catalog, type Clock, OutlayError, type WebhookVerifier } from '@outlay/core'
import { checkNames, checkNumbers } from '@outlay/core/adapter'
import { type Dialect, readDialect } from './dialect.ts'
import { readObservation, verifyWebhook } from './webhooks.ts'

/** Options of {@link httpWebhooks}. */
export interface HttpWebhooksOptions {
  /**
   * The secrets of an account's webhooks, for example from a vault. During a rotation there are several. Without a secret, or for
   * an unknown account, every webhook is refused as a forgery.
   */
  readonly secrets: (
    accountId: string,
  ) => string | readonly string[] | undefined | Promise<string | readonly string[] | undefined>
  /** Maximum difference between a timestamp and now, in either direction, in milliseconds. Default 300 000. */
  readonly toleranceMs?: number | undefined
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined
  /** Value types and transfer types whose spelling transfers get. Default: the catalog of core. */
  readonly catalog?: Catalog | undefined
  /** That of the gateway. Default: `specification`. */
  readonly dialect?: Dialect | undefined
}

/**
 * Makes the webhook verifier of an engine. It supports both schemes of {@link verifyWebhook} and reads observations of transfers.
 *
 * @example
 * const webhooks = httpWebhooks({ secrets: (accountId) => vault.read(`${accountId}/webhook`) })
 * const engine = createEngine({ backend, gateway, webhooks })
 */
export function httpWebhooks(options: HttpWebhooksOptions): WebhookVerifier {
  checkNames(options, ['secrets', 'toleranceMs', 'clock', 'catalog', 'dialect'])
  const dialect = readDialect(options.dialect)
  checkNumbers({ toleranceMs: options.toleranceMs }, { toleranceMs: { min: 0 } })
  return {
    async verify({ body, headers }, accountId) {
      const given = (await options.secrets(accountId)) ?? []
      const secrets = typeof given === 'string' ? [given] : given
      if (secrets.length === 0) {
        const message = 'the webhook cannot be verified: secrets() returned no secret for the account'
        throw new OutlayError('webhook_signature_invalid', message)
      }
      const timing = { now: options.clock?.now(), toleranceMs: options.toleranceMs }
      return readObservation(verifyWebhook(body, headers, secrets, timing), options.catalog, dialect)
    },
  }
}
