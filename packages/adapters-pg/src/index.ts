import '@outlay/core/node-version'

export * from './backend.ts'
export { type BatchListOptions, type BatchQuery, batchList } from './batches/batch-list.ts'
export { type AuditTrail, type AuditTrailOptions, auditTrail } from './control/audit-trail.ts'
export * from './database/driver.ts'
export type { Row, Statement } from './database/statement.ts'
export * from './drivers/pg.ts'
export { connectOutside } from './drivers/pool.ts'
export * from './inspection/account-backlog.ts'
export * from './inspection/event-tail.ts'
export type { GatewayFacts } from './inspection/gateway-facts.ts'
export * from './inspection/health.ts'
export type { HoldFacts } from './inspection/holds.ts'
export * from './inspection/inspection.ts'
export { type KeyFound, type KeyQuery, keySearch } from './inspection/key-search.ts'
export type { PlaceFacts } from './inspection/place.ts'
export {
  type RemoteIdQuery,
  type RemoteIdSearchOptions,
  remoteIdSearch,
} from './inspection/remote-id-search.ts'
export type { ReturnRecord } from './inspection/return-records.ts'
export type { SchemaDifference } from './inspection/schema-differences.ts'
export * from './inspection/schema-state.ts'
export type { ScreeningFacts } from './inspection/screening-facts.ts'
export type { StuckTransfer } from './inspection/stuck-transfers.ts'
export type { TableLock } from './inspection/table-locks.ts'
export type { TransferFilter } from './inspection/transfer-filter.ts'
export { type TransferLocksOptions, transferLocks } from './inspection/transfer-locks.ts'
export * from './inspection/transfer-reads.ts'
export { queueSchemaVersion } from './queue/queue-schema.ts'
export {
  applyMigrations,
  engineMigrations,
  type MigrateOptions,
  type Migration,
  toMigrations,
} from './schema/migrate.ts'
export { type RoleNames, type RolesOptions, rolesSql } from './schema/roles.ts'
export { dumpSchema, type RunStatement } from './schema/schema-dump.ts'
export type { ObjectKind } from './schema/schema-objects.ts'
export type { AccountFollow, PlacementPage, PlacementQuery } from './shards/account-follow.ts'
export type { AccountMoved } from './shards/account-move.ts'
export type { DirectoryAccount, DirectoryMove, DirectoryMoves } from './shards/account-move-directory.ts'
export { findUnfinishedMoves, type UnfinishedMove } from './shards/account-move-open.ts'
export type { AccountMoveOptions, AccountMoveProgress } from './shards/account-move-run.ts'
export type { AccountPlacement } from './shards/account-placement.ts'
export type { CitusNodeOptions } from './shards/citus-node.ts'
export { explainPinFault, findPinFault, type PinFault } from './shards/citus-pin.ts'
export {
  explainMisplacement,
  findMisplaced,
  type Misplacement,
} from './shards/citus-placement.ts'
export { type Directory, type DirectoryOptions, directory } from './shards/directory.ts'
export type { MissingNode, NodeAnswers } from './shards/node-answers.ts'
export type { ShardAccounts, ShardStops } from './shards/shard-accounts.ts'
export {
  groupPolicies,
  type PolicyComparison,
  type ShardAudit,
  type ShardLimits,
  type ShardPolicies,
  type ShardPolicyNote,
} from './shards/shard-control.ts'
export type { ShardNode } from './shards/shard-node.ts'
export type { RouteDirectory, ShardRoute } from './shards/shard-routing.ts'
export type { ShardPage } from './shards/shard-search.ts'
export type { ShardArchived, ShardBacklog } from './shards/shard-sums.ts'
export type { ShardTransfers } from './shards/shard-transfers.ts'
export { type ShardNodeOptions, type Shards, type ShardsOptions, shards } from './shards/shards.ts'
