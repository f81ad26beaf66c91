import type { Credentials } from '@outlay/http-client'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** The token under which Nest has the {@link Service}. */
export const SERVICE = Symbol('service')
