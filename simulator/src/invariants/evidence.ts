import type { Environment } from '../environment/environment.ts'
import type { HostDatabase } from '../environment/host-database.ts'
import type { Tenant } from '../environment/tenant.ts'
import type { Violation } from '../violation.ts'

/** A transfer that somebody else made at the service. */
export interface ForeignTransfer {
  readonly accountId: string
  /** True when the account was watched already, so that it has to be adopted. */
  readonly watched: boolean
}

/** What the checks read: both databases, whose money it is, and what was noted on the way. */
export interface Evidence {
  readonly environment: Pick<Environment, 'host' | 'service'> & {
    readonly nodes: readonly Pick<HostDatabase, 'host'>[]
  }
  readonly tenants: readonly (Pick<Tenant, 'accountId' | 'client' | 'funded'> & Partial<Pick<Tenant, 'clientIds'>>)[]
  /** Idempotency keys that reached the service. */
  readonly keysSeen: ReadonlySet<string>
  /** Transfers that somebody else made, by their id at the service. */
  readonly foreign: ReadonlyMap<string, ForeignTransfer>
  /** Ids at the service of payouts of which a part was paid. */
  readonly paidOtherwise?: ReadonlySet<string>
  /** Transfers that were enqueued while two others than their creator had to approve them. */
  readonly toApprove?: ReadonlySet<string>
  /** Transfers that were enqueued while they had to be screened, and those of which the screener has said that they pass. */
  readonly toScreen?: ReadonlySet<string>
  readonly passed?: ReadonlySet<string>
  /** Transfers that were enqueued while first payments had to be approved, and are such. */
  readonly firstPayments?: ReadonlySet<string>
  /** Transfers that were enqueued while those that look like another one had to be held. */
  readonly toCompare?: ReadonlySet<string>
  /** What went wrong in a way that is never right, whatever the faults. */
  readonly mistakes: readonly Violation[]
  /** True when one client of the service has the accounts of all tenants. */
  readonly sharesClient?: boolean
  /** When the service forgot idempotency keys, by its clock. */
  readonly forgottenAt?: readonly Date[]
  /** Attempts that were given to the gateway, as transfer and attempt. */
  readonly sent?: ReadonlySet<string>
}
