import type { AccountPort } from './account-commands.ts'
import type { ArchivePort } from './archive.ts'
import type { AuditPort } from './audit.ts'
import type { BacklogPort } from './backlog.ts'
import type { BatchPort } from './batches.ts'
import type { HoldPort } from './holds.ts'
import type { LimitPort } from './limits.ts'
import type { ObservationPort } from './observations.ts'
import type { Operations } from './operations.ts'
import type { PolicyPort } from './policies.ts'
import type { Runtime } from './runtime.ts'
import type { SchemaPort } from './schema.ts'
import type { ScreeningPort } from './screening.ts'
import type { SubscriptionPort } from './subscriptions.ts'
import type { TransferCommandPort } from './transfer-commands.ts'
import type { CountPort } from './transfer-counts.ts'
import type { TransferPort } from './transfers.ts'
import type { WorkPort } from './work.ts'

/** The database side of the engine. `Tx` is the host's own transaction type. */
export interface Backend<Tx>
  extends SchemaPort,
    TransferPort<Tx>,
    TransferCommandPort<Tx>,
    AccountPort<Tx>,
    BatchPort<Tx>,
    HoldPort<Tx>,
    PolicyPort<Tx>,
    LimitPort<Tx>,
    AuditPort<Tx>,
    ScreeningPort<Tx>,
    ObservationPort<Tx>,
    SubscriptionPort<Tx>,
    WorkPort<Tx>,
    BacklogPort,
    CountPort,
    ArchivePort {
  readonly runtime: Runtime
  /** What may be sent from this database, and what a reconciliation writes. */
  readonly operations: Operations<Tx>
}
