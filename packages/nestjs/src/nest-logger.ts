import { Logger as NestLogger } from '@nestjs/common'
import type { Logger } from '@outlay/core'
import { defaultEngine } from './injection.ts'

/** The engine's log in that of Nest: one text each, since the loggers of Nest treat further arguments differently. */
export function nestLogger(engine: string): Logger {
  const log = new NestLogger(engine === defaultEngine ? 'Outlay' : `Outlay ${engine}`)
  const write = (fields: Readonly<Record<string, unknown>>, message: string) =>
    Object.keys(fields).length === 0 ? message : `${message} ${JSON.stringify(fields)}`
  return {
    debug: (fields, message) => log.debug(write(fields, message)),
    info: (fields, message) => log.log(write(fields, message)),
    warn: (fields, message) => log.warn(write(fields, message)),
    error: (fields, message) => log.error(write(fields, message)),
  }
}
