import { OutlayError } from '../error.ts'
import { Id } from '../id.ts'
import type { ReconcileOptions } from './reconciliation.ts'

/** Reads which transfer of the service a person says that rows are. Throws OutlayError `invalid_id` or `invalid_request`. */
export function readMatches(matches: ReconcileOptions['matches']): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  const rows = new Map<string, string>()
  for (const [transferId, remoteId] of Object.entries(matches ?? {})) {
    const id = Id.parse(transferId, 'matches')
    const other = rows.get(remoteId)
    if (other !== undefined) {
      const message = `matches: both ${other} and ${id} are given the id ${remoteId}; only one of them can have it.`
      throw new OutlayError('invalid_request', message, { field: 'matches' })
    }
    rows.set(remoteId, id)
    given.set(id, remoteId)
  }
  return given
}
