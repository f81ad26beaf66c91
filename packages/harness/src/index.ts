import '@outlay/core/node-version'

export type { AccountOptions, TestAccount, TestPayee } from './accounts.ts'
export type { Duration } from './duration.ts'
export type { EnqueuedMatch } from './enqueued.ts'
export type { FaultScope, Faults } from './faults.ts'
export type { HostOptions, HostSide } from './host-engine.ts'
export { type MemoryOutlay, type MemoryOutlayOptions, startMemoryOutlay } from './memory-outlay.ts'
export {
  type AdvanceOptions,
  type EmbeddedOutlay,
  type EmbeddedOutlayOptions,
  type Ending,
  type Outlay,
  type OutlayOptions,
  type ServiceSideOptions,
  startOutlay,
} from './outlay.ts'
