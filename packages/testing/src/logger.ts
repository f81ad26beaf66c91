import type { Logger } from '@outlay/core'

/** One line of a log. */
export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A logger that records its entries. */
export interface RecordingLogger extends Logger {
  /** Oldest first. */
  readonly entries: readonly LogEntry[]
}

/** A logger that writes nothing. */
export const silentLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Makes a logger that records its entries, for assertions of a test. */
export function recordingLogger(): RecordingLogger {
  const entries: LogEntry[] = []
  const record = (level: LogEntry['level']) => (fields: LogEntry['fields'], message: string) => {
    entries.push({ level, fields, message })
  }
  return { entries, debug: record('debug'), info: record('info'), warn: record('warn'), error: record('error') }
}
