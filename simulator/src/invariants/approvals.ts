import type { Violation } from '../violation.ts'
import type { Evidence } from './evidence.ts'

/** What had to be approved when it was enqueued was sent after two others than its creator had done so. */
export async function checkApprovals(at: Pick<Evidence, 'environment' | 'toApprove'>): Promise<readonly Violation[]> {
  const { toApprove = new Set() } = at
  const { rows } = await at.environment.host.query<{ readonly id: string; readonly by: string }>(
    `select t.id, coalesce(string_agg(a.actor, ', ' order by a.approved_at), 'nobody') as by
     from outlay.transfer t
     left join outlay.approval a on a.transfer_id = t.id
     left join outlay.transfer_creator c on c.transfer_id = t.id
     where t.id = any ($1) and t.attempt > 0
     group by t.id
     having count(a.actor) filter (where lower(a.actor) is distinct from lower(c.created_by)) < 2`,
    [[...toApprove]],
  )
  return rows.map(({ id, by }) => ({ invariant: 'approved_by_two', detail: `${id} was sent, approved by ${by}` }))
}
