import pg from 'pg'

/** A setting of one transaction: the tenant that the policies of the tables read, or a limit of the server. */
export type TransactionSetting = readonly [
  name: 'outlay.client_id' | 'outlay.system' | 'lock_timeout' | 'statement_timeout',
  value: string,
]

/** The text that begins a transaction with settings, in one message. */
export function beginWith(settings: readonly TransactionSetting[]): string {
  return ['begin', ...settings.map(([name, value]) => `set local ${name} = ${pg.escapeLiteral(value)}`)].join('; ')
}
