import type { CounterpartyDetails, StoredRequest } from '../counterparty.ts'
import type { Metadata } from '../metadata.ts'
import type { Environment } from '../transfer-type.ts'
import type { NewHold, NewWatch } from './holds.ts'

/** A transfer to be written in the host's transaction. */
export interface NewTransfer {
  /** ULID. */
  readonly id: string
  readonly accountId: string
  /** Name of the gateway that it is sent to: `default` where an engine has one. */
  readonly gateway: string
  readonly idempotencyKey: string
  /** Fingerprint of the request, counterparty details included: equal only for equal requests. */
  readonly fingerprint: string
  readonly request: StoredRequest
  /** Details of the counterparty that the request gives in full; stored until it is registered. */
  readonly counterparty?: CounterpartyDetails | undefined
  /** Not sent before this, ISO 8601; null for at once. */
  readonly notBefore: string | null
  /** Not sent for the first time after this, ISO 8601; null for no end. */
  readonly expiresAt: string | null
  /** Environment of the gateway that it was enqueued for; absent when the gateway declared none. */
  readonly environment?: Environment | undefined
  /** What the host notes beside it; absent where there is nothing. No part of the fingerprint. */
  readonly metadata?: Metadata | undefined
  /** The batch that it enters; absent where there is none. */
  readonly batchId?: string | undefined
  /** The ended transfer of that batch in whose place it is enqueued, also when the batch is closed. */
  readonly replaces?: string | undefined
  /** Who asked for it; absent where the host does not say. No part of the fingerprint. */
  readonly createdBy?: string | undefined
  /** What holds it from the start: it is written as held, and not to the outbox. Absent for nearly all. */
  readonly holds?: readonly NewHold[] | undefined
  /** What is compared with others again before it is sent. Absent for nearly all. */
  readonly watches?: readonly NewWatch[] | undefined
}
