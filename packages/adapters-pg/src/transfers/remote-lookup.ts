/**
 * The statement that finds one transfer of an account at its gateway by its id at the service: SQL expressions for both, and the columns of `x` to read. No
 * index but that of the ids at the service can compare them as rows. For a set, Postgres may read all transfers of the account or all that are submitted.
 */
export const findByRemoteId = (columns: string, account: string, remoteId: string): string => {
  const row = `(${remoteId}, {{schema}}.account_of(${account}), {{schema}}.gateway_of(${account}))`
  return `select ${columns} from {{schema}}.transfer x
        where x.remote_id = ${remoteId} and (x.remote_id, x.account_id, x.gateway) >= ${row} and (x.remote_id, x.account_id, x.gateway) <= ${row} limit 1`
}
