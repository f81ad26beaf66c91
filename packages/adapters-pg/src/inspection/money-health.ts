import type { Driver } from '../database/driver.ts'
import { statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'
import { type Group, groupText, readGroup } from './group.ts'

const lately = `(t.paid ->> 'seenAt') collate "C" > {{schema}}.iso(clock_timestamp() - interval '7 days')`

const texts = {
  health_held_returns: `select ${groupText} from (
      select r.transfer_id as id, min(r.seen_at) as at from {{schema}}.transfer_return r
      where r.problem is not null and r.resolved_at is null group by r.transfer_id
    ) g`,
  health_paid_otherwise: `select ${groupText} from (
      select t.id, (t.paid ->> 'seenAt')::timestamptz as at from {{schema}}.transfer t
      where t.paid is not null and ${lately}
    ) g`,
  health_returned_beyond: `select ${groupText} from (
      select t.id, (t.paid ->> 'seenAt')::timestamptz as at from {{schema}}.transfer t
      where t.paid is not null and ${lately} and {{schema}}.amount_of(t.paid -> 'amount') < (
        select sum(r.amount) from {{schema}}.transfer_return r where r.transfer_id = t.id and r.sequence is not null)
    ) g`,
  health_failover_ended: `select ${groupText} from (
      select t.id, t.updated_at as at from {{schema}}.transfer t
      where t.reason in ('failover_refused', 'failover_late') and t.updated_at > clock_timestamp() - interval '7 days'
        and not exists (select from {{schema}}.resubmission r where r.transfer_id = t.id)
    ) g`,
} as const

/** Makes the reads of money that is not as it was asked for. */
export function createMoneyReads<Tx>(driver: Driver<Tx>, { tokens }: DatabaseNames) {
  const sql = statements(tokens, texts)
  const read = async (name: keyof typeof texts): Promise<Group> =>
    readGroup((await driver.query(sql[name], []))[0] ?? {})
  return {
    /** All of them, one after the other. */
    async all() {
      return {
        heldReturns: await read('health_held_returns'),
        paidOtherwise: await read('health_paid_otherwise'),
        returnedBeyond: await read('health_returned_beyond'),
        failoverEnded: await read('health_failover_ended'),
      }
    },
  }
}
