import type { Directory, Driver } from '@outlay/adapters-pg'
import type { Backend, Engine, Gateway, Runtime, WebhookVerifier, WorkOptions } from '@outlay/core'
import type { WorkHandlers } from '@outlay/core/adapter'
import type { Pool, PoolClient } from 'pg'
import type { InvariantName } from '../violation.ts'

/** What is changed in the text of a function. */
export interface SqlChange {
  readonly on: 'host' | 'service'
  readonly name: string
  readonly from: string
  readonly to: string
}

/** A mistake that somebody could make, to be planted, so that it is seen that the simulator finds it. */
export interface Bug {
  readonly name: string
  /** Invariants any of which finds it. */
  readonly breaks: readonly InvariantName[]
  /** Whether it is one of accounts that move, so that only plans find it in which they do. */
  readonly hasNodes?: boolean
  /** Functions of databases, and what is changed in their texts. */
  readonly sql?: SqlChange | readonly SqlChange[]
  /** A second line of defence at the service that would hide the mistake: a constraint of a table. */
  readonly withoutConstraint?: readonly [table: string, name: string]
  readonly gateway?: (gateway: Gateway) => Gateway
  readonly backend?: (backend: Backend<PoolClient>) => Backend<PoolClient>
  readonly driver?: (
    driver: Driver<PoolClient>,
    pools: { readonly host: Pick<Pool, 'query'>; readonly pool: Pool },
  ) => Driver<PoolClient>
  /** Changes where accounts are and where their moves stand, of hosts with several databases. `pool` is that of the directory. */
  readonly directory?: (directory: Directory, pool: Pool) => Directory
  /** Statements that `driver` matches: how each is called, and what its values have to say. */
  readonly statements?: Readonly<Record<string, RegExp>>
  readonly webhooks?: () => WebhookVerifier
  /** Changes what hosts call. */
  readonly engine?: (engine: Engine<PoolClient>, around: { readonly gateway: Gateway }) => Engine<PoolClient>
  /** Changes what the core decides about claims, attempts and events. */
  readonly handlers?: (handlers: WorkHandlers<PoolClient>) => WorkHandlers<PoolClient>
  readonly runtime?: Partial<Runtime>
  /** How long a vault may take, in milliseconds. */
  readonly credentialsMs?: number
  /** Changes how workers work. */
  readonly work?: Partial<WorkOptions>
  readonly handlerWritesOutside?: boolean
  readonly handlerFailureIsSwallowed?: boolean
}
