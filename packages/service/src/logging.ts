import '@outlay/core/node-version'
import type { Logger } from '@outlay/core'
import { type DestinationStream, pino } from 'pino'

/** Options of {@link pinoLogger}. */
export interface PinoLoggerOptions {
  /** Lowest level that is written. Default `info`. */
  readonly level?: 'debug' | 'info' | 'warn' | 'error' | 'silent' | undefined
  /** Destination of the lines. Default: standard output. */
  readonly destination?: DestinationStream | undefined
  /** Members that are in every line, such as the name of the process. Default: none. */
  readonly base?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Makes a logger that writes one line of JSON per entry: `level`, `time` in ISO 8601, `msg` and the fields. It redacts the values
 * of members whose name means a secret or a number of a person or a bank account, at any depth.
 *
 * @example
 * const service = createService({ pool, rails, encryptionKey, logger: pinoLogger({ level: 'debug' }) })
 */
export function pinoLogger(options: PinoLoggerOptions = {}): Logger {
  const settings = {
    level: options.level ?? 'info',
    base: options.base ?? null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const log = options.destination === undefined ? pino(settings) : pino(settings, options.destination)
  const write = (level: 'debug' | 'info' | 'warn' | 'error'): Logger['info'] => {
    return (fields, message) => {
      if (log.isLevelEnabled(level)) log[level](redact(fields, 0), message)
    }
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

/** Names of members whose values are never logged, in any spelling. */
const secret =
  /authorization|cookie|password|passwd|secret|token|credential|privatekey|encryptionkey|mackey|accountnumber|routingnumber|^ssn$|^ein$|^iban$|clabe|dateofbirth/i

const mostDepth = 6

function redact(value: unknown, depth: number): object {
  if (typeof value !== 'object' || value === null) return { value }
  const kept: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    kept[name] = secret.test(name.replaceAll(/[_-]/g, '')) ? '[redacted]' : redactMember(member, depth)
  }
  return kept
}

function redactMember(member: unknown, depth: number): unknown {
  if (typeof member !== 'object' || member === null || member instanceof Date) return member
  if (depth >= mostDepth) return '[too deep]'
  if (Array.isArray(member)) return member.map((one) => redactMember(one, depth + 1))
  if (member instanceof Error) return { name: member.name, message: member.message }
  return redact(member, depth + 1)
}
