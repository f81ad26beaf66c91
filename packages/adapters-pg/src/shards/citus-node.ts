import { OutlayError } from '@outlay/core'
import { checkNames } from '@outlay/core/adapter'

/** What a database is in a Citus cluster. */
export interface CitusNodeOptions {
  /**
   * Host and port of this database as `pg_dist_node` has them, such as `worker-1:5432`. `accounts.follow` needs it, and so do `accounts.placements`.
   * Default: none.
   */
  readonly at?: string | undefined
  /**
   * A table of the host, as `schema.table`, that Citus distributes and in which each enqueue on this node touches a shard of this node. So Citus commits in two
   * phases whatever else the transaction writes on other servers. Only what is written in these transactions counts; `pinTransaction` does the same for others.
   * Nothing is written to the table. Default: none.
   */
  readonly pin?: string | undefined
}

/** Checks what the host says of Citus for a node. */
export function checkCitusNode(name: string, citus: CitusNodeOptions | undefined): void {
  if (citus === undefined) return
  const field = `nodes.${name}.citus`
  const refuse = (member: string, message: string) =>
    new OutlayError('invalid_request', `${field}.${member} must be ${message}`, { field: `${field}.${member}` })
  if (typeof citus !== 'object' || citus === null)
    throw new OutlayError('invalid_request', `${field} must be { at, pin }`, { field })
  checkNames(citus, ['at', 'pin'], field)
  const { at, pin } = citus
  if (at !== undefined && (typeof at !== 'string' || !/^[^\s:]([^\s]*[^\s:])?:\d{1,5}$/.test(at)))
    throw refuse('at', 'the host and port of the node in pg_dist_node, such as "worker-1:5432"')
  if (pin !== undefined && (typeof pin !== 'string' || pin.trim() === ''))
    throw refuse('pin', 'the name of a table that Citus distributes, as "schema.table"')
}
