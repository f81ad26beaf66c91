import type { Logger } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'

/**
 * Warns where the sessions of the workers begin their transactions above `read committed`, as a database or a role may demand. A statement
 * then fails where another worker has changed a row, instead of waiting for it. Nothing is lost by that, but turns are repeated.
 */
export async function warnOfIsolation<Tx>(driver: Pick<Driver<Tx>, 'run'>, logger: Logger): Promise<void> {
  const { rows } = await driver.run(`select current_setting('default_transaction_isolation') as isolation`)
  const isolation = readFirst(readIsolation, rows)?.isolation
  if (isolation === undefined || isolation === 'read committed') return
  const message =
    'The connections of the workers are not at "read committed", so their statements fail beside each other and are repeated. ' +
    'Set default_transaction_isolation to it for their role, or for a pool of their own; the transactions of hosts may have any.'
  logger.warn({ isolation }, message)
}

const readIsolation = rowDecoder('setting', { isolation: Column.text })
