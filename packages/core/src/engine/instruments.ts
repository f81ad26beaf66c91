import type { Instrument } from '../ports/telemetry.ts'

/** Milliseconds to an hour, in seconds: answers of services. */
const requestBoundaries = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** A second to a week, in seconds: money on its way. */
const settleBoundaries = [1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 172_800, 345_600, 604_800]

/** What the engine measures. */
export const instruments = {
  /** Attempts to submit a transfer and their time, by `outlay.outcome` and `outlay.rail`. */
  submit: {
    outcomes: {
      name: 'outlay.submit.outcomes',
      kind: 'counter',
      attributes: ['outlay.outcome', 'outlay.rail'],
      unit: '{attempt}',
      description: 'Attempts to submit a transfer, by outcome.',
    },
    duration: {
      name: 'outlay.submit.duration',
      kind: 'histogram',
      attributes: ['outlay.outcome', 'outlay.rail'],
      unit: 's',
      description: 'How long one attempt to submit a transfer takes.',
      boundaries: requestBoundaries,
    },
  },
  /** Attempts to register the counterparty of a transfer and their time, by `outlay.outcome` and `outlay.rail`. */
  register: {
    outcomes: {
      name: 'outlay.register.outcomes',
      kind: 'counter',
      attributes: ['outlay.outcome', 'outlay.rail'],
      unit: '{attempt}',
      description: 'Attempts to register the counterparty of a transfer, by outcome.',
    },
    duration: {
      name: 'outlay.register.duration',
      kind: 'histogram',
      attributes: ['outlay.outcome', 'outlay.rail'],
      unit: 's',
      description: 'How long one attempt to register the counterparty of a transfer takes.',
      boundaries: requestBoundaries,
    },
  },
  /** Calls of the screener and their time, by `outlay.outcome`: pass, hold, refuse, no_answer. */
  screen: {
    outcomes: {
      name: 'outlay.screening.outcomes',
      kind: 'counter',
      attributes: ['outlay.outcome'],
      unit: '{call}',
      description: 'Calls of the screener, by outcome.',
    },
    duration: {
      name: 'outlay.screening.duration',
      kind: 'histogram',
      attributes: ['outlay.outcome'],
      unit: 's',
      description: 'How long one call of the screener takes.',
      boundaries: requestBoundaries,
    },
  },
  /** Time from the enqueue to the final status, by `outlay.rail` and `outlay.status`. */
  settleDuration: {
    name: 'outlay.settle.duration',
    kind: 'histogram',
    attributes: ['outlay.rail', 'outlay.status'],
    unit: 's',
    description: 'Time from the enqueue of a transfer to its final status.',
    boundaries: settleBoundaries,
  },
  /** Time of one event in a handler, by `outlay.subscription` and `error.type`. */
  handleDuration: {
    name: 'outlay.handler.duration',
    kind: 'histogram',
    attributes: ['outlay.subscription', 'error.type'],
    unit: 's',
    description: 'How long the handler of a subscription takes for one event.',
    boundaries: requestBoundaries,
  },
  /** Failed runs of handlers, by `outlay.subscription` and `error.type`. */
  handlerFailures: {
    name: 'outlay.handler.failures',
    kind: 'counter',
    attributes: ['outlay.subscription', 'error.type'],
    unit: '{failure}',
    description: 'Failed runs of handlers.',
  },
  /** Transfers that are not settled, by `outlay.stage`. */
  backlog: {
    name: 'outlay.transfer.backlog',
    kind: 'gauge',
    attributes: ['outlay.stage'],
    unit: '{transfer}',
    description: 'Transfers that are not settled, by stage.',
  },
  /** Age of the oldest transfer that is due and not submitted. */
  unsubmittedAge: {
    name: 'outlay.transfer.unsubmitted.age',
    kind: 'gauge',
    attributes: [],
    unit: 's',
    description: 'How long the oldest transfer that is due has waited to be submitted.',
  },
  /** Events not yet delivered to a subscription, by `outlay.subscription`. */
  undelivered: {
    name: 'outlay.subscription.backlog',
    kind: 'gauge',
    attributes: ['outlay.subscription'],
    unit: '{event}',
    description: 'Events not yet delivered to a subscription.',
  },
  /** Age of the oldest of them, by `outlay.subscription`. */
  lag: {
    name: 'outlay.subscription.lag',
    kind: 'gauge',
    attributes: ['outlay.subscription'],
    unit: 's',
    description: 'Age of the oldest event not yet delivered to a subscription.',
  },
  /** Events whose handler failed too often, by `outlay.subscription`. */
  deadLetters: {
    name: 'outlay.subscription.dead_letters',
    kind: 'gauge',
    attributes: ['outlay.subscription'],
    unit: '{event}',
    description: 'Events whose handler failed too often; they are not retried.',
  },
  /** How long ago each of the gauges before was read, by `outlay.gauge`, the name of its instrument. */
  gaugeAge: {
    name: 'outlay.gauge.age',
    kind: 'gauge',
    attributes: ['outlay.gauge'],
    unit: 's',
    description: 'How long ago a gauge was last read from the database.',
  },
} as const satisfies Readonly<Record<string, Instrument | Readonly<Record<string, Instrument>>>>
