import { type Engine, OutlayError } from '@outlay/core'
import { isAccountId } from './shard-routing.ts'

/** Makes the reconciliation of one node: it refuses accounts of other nodes, of which it would adopt all that they have. */
export function reconcileOwn<Tx>(
  name: string,
  engine: Engine<Tx>,
  nodeOf: (accountId: string) => Promise<string>,
): Engine<Tx>['reconcile'] {
  return async (options) => {
    const accountIds: unknown = options?.accounts
    for (const [position, accountId] of Array.isArray(accountIds) ? accountIds.entries() : []) {
      const other = isAccountId(accountId) ? await nodeOf(accountId) : name
      if (other === name) continue
      const message = `The account ${accountId} is on the node "${other}", so "${name}" compares nothing of it; leave it out here.`
      throw new OutlayError('wrong_node', message, { field: `accounts.${position}` })
    }
    return engine.reconcile(options)
  }
}
