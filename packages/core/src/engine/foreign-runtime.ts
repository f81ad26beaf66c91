import { OutlayError } from '../error.ts'
import { checkNames } from '../option-names.ts'
import type { Logger, Runtime } from '../ports/runtime.ts'
import type { Span, Telemetry } from '../ports/telemetry.ts'

const memberNames = ['clock', 'random', 'timer', 'logger', 'yieldToEventLoop', 'digest'] as const

/**
 * The runtime of an engine: the host's members where given, otherwise the backend's. The backend's clock and randomness also
 * replace a clock that shows no time and a fraction out of range; what a logger throws is ignored.
 */
export function foreignRuntime(own: Runtime, given: Partial<Runtime> = {}): Runtime {
  checkNames(given, memberNames, 'runtime')
  const runtime: Runtime = { ...own, ...readMembers(given) }
  const { clock, random } = runtime
  checkLogger(runtime.logger)
  return {
    ...runtime,
    clock: { now: () => readTime(() => clock.now()) ?? own.clock.now() },
    random: {
      bytes: (length) => random.bytes(length),
      fraction: () => readFraction(() => random.fraction()) ?? own.random.fraction(),
    },
    logger: foreignLogger(runtime.logger),
  }
}

const levels = ['debug', 'info', 'warn', 'error'] as const

/** What a logger throws is ignored, so one that lacks a method would say nothing, for ever. */
function checkLogger(logger: Partial<Record<keyof Logger, unknown>> | null): void {
  if (levels.every((level) => typeof logger?.[level] === 'function')) return
  const message = `must have the methods ${levels.join(', ')}`
  throw OutlayError.fromIssues([{ field: 'runtime.logger', code: 'invalid_request', message }])
}

/** The members that are given, also those of a class, which are no properties of the object itself. */
const readMembers = (given: Partial<Runtime>): Partial<Runtime> =>
  Object.fromEntries(memberNames.map((name) => [name, given[name]]).filter(([, member]) => member !== undefined))

/** The result of the call; undefined when it throws. */
function attempt<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch {
    return undefined
  }
}

function readTime(read: () => Date): Date | undefined {
  const now = attempt(read)
  return now instanceof Date && !Number.isNaN(now.getTime()) ? now : undefined
}

function readFraction(read: () => number): number | undefined {
  const fraction = attempt(read)
  return typeof fraction === 'number' && fraction >= 0 && fraction < 1 ? fraction : undefined
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'

/** The same logger; what it throws is ignored. */
export function foreignLogger(logger: Logger): Logger {
  const report =
    (level: keyof Logger): Logger['debug'] =>
    (fields, message) => {
      const result: unknown = attempt(() => logger[level](fields, message))
      // An asynchronous logger may reject, which would end the process.
      if (isThenable(result)) result.then(undefined, () => undefined)
    }
  return { debug: report('debug'), info: report('info'), warn: report('warn'), error: report('error') }
}

/**
 * The same telemetry; what it throws is ignored. The work runs exactly once, whatever happens to its span, and ends when the
 * work does.
 */
export function foreignTelemetry(telemetry: Telemetry): Telemetry {
  return {
    span<T>(name: string, options: Parameters<Telemetry['span']>[1], work: (span: Span) => Promise<T>): Promise<T> {
      let working: Promise<T> | undefined
      const begin = (span: Span) => {
        working ??= work(foreignSpan(span))
        return working
      }
      // A span that does not begin its work at once may never do so.
      const traced = attempt(() => telemetry.span(name, options, begin))
      if (traced instanceof Promise) traced.catch(() => undefined)
      return begin(noSpan)
    },
    current: () => {
      const traceparent: unknown = attempt(() => telemetry.current())
      return typeof traceparent === 'string' ? traceparent : undefined
    },
    count: (...counted) => void attempt(() => telemetry.count(...counted)),
    record: (...recorded) => void attempt(() => telemetry.record(...recorded)),
    gauges(instruments, read) {
      const end = attempt(() => telemetry.gauges(instruments, read))
      return () => void attempt(() => end?.())
    },
  }
}

const noSpan: Span = { traceparent: undefined, rename() {}, set() {}, fail() {}, measure() {} }

function foreignSpan(span: Span): Span {
  return {
    get traceparent() {
      const traceparent: unknown = attempt(() => span.traceparent)
      return typeof traceparent === 'string' ? traceparent : undefined
    },
    rename: (name) => void attempt(() => span.rename(name)),
    set: (attributes) => void attempt(() => span.set(attributes)),
    fail: (type) => void attempt(() => span.fail(type)),
    measure: (instrument, attributes) => void attempt(() => span.measure(instrument, attributes)),
  }
}
