import '@outlay/core/node-version'

export { type ManualClock, manualClock } from './clock.ts'
export {
  type CrashPoint,
  type CrashPoints,
  crashPointNames,
  crashPoints,
  crashPointVariable,
} from './crash-points.ts'
export { type DoomedProgram, type SpawnUntilOptions, spawnUntil } from './crash-program.ts'
export { type FaultProxy, type FaultProxyOptions, startFaultProxy } from './fault-proxy.ts'
export type {
  ActiveRule,
  Fault,
  FaultBook,
  FaultRule,
  Hold,
  HoldOptions,
  ProxiedRequest,
  RequestMatch,
} from './faults.ts'
export * from './fixtures.ts'
export { type DrainOptions, drain, type WaitOptions, waitUntil } from './harness.ts'
export { type LogEntry, type RecordingLogger, recordingLogger, silentLogger } from './logger.ts'
export {
  type AnswerScript,
  type MemoryGateway,
  type MemoryGatewayOptions,
  memoryGateway,
  type RegistrationScript,
} from './memory-gateway.ts'
export { findPgBouncer, type PgBouncer, type PgBouncerOptions, startPgBouncer } from './pgbouncer.ts'
export { type Postgres, startPostgres } from './postgres.ts'
export {
  openPostgresClusters,
  type PostgresClusters,
  restoring,
  standbyOf,
  waitForPrimary,
} from './postgres-clusters.ts'
export type { PostgresOptions, PostgresProvider, RestartMode } from './postgres-server.ts'
export { freezeProcesses, type Program, type ProgramEnd, type SpawnOptions, spawnNode } from './processes.ts'
export { seededRandom } from './random.ts'
export { startTcpProxy, type TcpProxy, type TcpProxyOptions } from './tcp-proxy.ts'
export { type RecordedSpan, type RecordedValue, type RecordingTelemetry, recordingTelemetry } from './telemetry.ts'
export { assertNoConnections, createTemplate, type DatabaseTemplate } from './template-database.ts'
