import type { HealthFacts } from '@outlay/adapters-pg'

/** Nothing of a kind. */
const none: HealthFacts['transfers']['unknown'] = { count: 0, samples: [], oldestMs: null }

/** Facts in which the doctor finds nothing. */
export const healthyFacts: HealthFacts = {
  server: { version: '18', clockSkewMs: 0, clockErrorMs: 1, autovacuum: true, readOnly: false },
  workers: { supervisedMs: 4_000, claimedMs: 100, names: ['a'], listening: 1 },
  jobs: { missing: none, stray: none, silent: none, due: none },
  transfers: {
    unknown: none,
    blocked: [],
    acceptedLate: { ...none, lastDetail: null },
    acceptedTwice: { ...none, lastDetail: null },
    heldReturns: none,
    paidOtherwise: none,
    returnedBeyond: none,
    failoverEnded: none,
    endedInDoubt: { ...none, lastDetail: null },
    awaitingFunds: none,
    held: none,
    deferred: [],
    missing: none,
    overduePolls: none,
    submitted: none,
  },
  sending: { unfamiliar: null, fence: null, stops: [], knownDatabase: null },
  obstructed: [],
  unattendedGateways: [],
  refusedAccounts: [],
  pausedAccounts: [],
  subscriptions: [],
  unchained: none,
  orphanDeliveries: 0,
  unadopted: { ...none, problem: null },
  unreadWatches: [],
  snapshots: [],
  tables: [{ table: 'outlay.transfer', liveRows: 10, deadRows: 9, vacuumedMs: null, autovacuum: true }],
}

/** A connection in which the doctor finds nothing. */
export const healthyConnection = { notified: true, pooled: false }
