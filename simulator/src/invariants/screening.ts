import type { Violation } from '../violation.ts'
import type { Evidence } from './evidence.ts'

/**
 * What had to be screened when it was enqueued was sent after the screener had said that it passes, and that was stored, or after somebody
 * released it by name.
 */
export async function checkScreening(
  at: Pick<Evidence, 'environment' | 'toScreen' | 'passed'>,
): Promise<readonly Violation[]> {
  const { toScreen = new Set(), passed = new Set() } = at
  const { rows } = await at.environment.host.query<{ readonly id: string; readonly is_stored: boolean }>(
    `select t.id, exists (
        select from outlay.screening_answer s
        where s.transfer_id = t.id and s.result = 'pass' and s.counted and s.fingerprint = t.fingerprint) as is_stored
     from outlay.transfer t
     where t.id = any ($1) and t.attempt > 0 and not exists (
       select from outlay.audit a
       where a.transfer_id = t.id and a.command = 'transfers.release' and a.after -> 'released' @> '[{"name": "screening"}]')`,
    [[...toScreen]],
  )
  return rows.flatMap(({ id, is_stored }) => {
    if (!is_stored) return [{ invariant: 'screened' as const, detail: `${id} was sent without a stored pass` }]
    if (passed.has(id)) return []
    return [{ invariant: 'screened' as const, detail: `${id} was sent, and the screener never let it pass` }]
  })
}
