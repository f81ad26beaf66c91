import type { Caller } from '../schema/caller.ts'

/** A client, without a token. */
export type Client = Omit<Caller, 'expiresAt'>

/** Checks credentials, and throttles who sends wrong ones. */
export interface CredentialChecks {
  /**
   * The client with this id and secret; `undefined` when the pair is wrong.
   * @throws OutlayError `rate_limited` instead, after many wrong ones of the address or of the client id.
   */
  findClient(address: string | undefined, clientId: string, clientSecret: string): Promise<Client | undefined>
  /**
   * The caller with this token; `undefined` for a wrong one.
   * @throws OutlayError `rate_limited` instead, after many wrong ones of the address.
   */
  findCaller(address: string | undefined, tokenDigest: Buffer): Promise<Caller | undefined>
}
