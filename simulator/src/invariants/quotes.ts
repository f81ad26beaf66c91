import type { Violation } from '../violation.ts'
import type { Evidence } from './evidence.ts'

/** A quote is used by one transfer at most, of its account, with its amounts, and in time. */
export async function checkQuotes(at: Pick<Evidence, 'environment' | 'tenants'>): Promise<readonly Violation[]> {
  const { rows } = await at.environment.service.query<{ readonly id: string; readonly said: string }>(
    `select t.quote ->> 'id' as id, string_agg(concat_ws(' ', t.id, t.account_id, t.amount_value::float8, t.created_at), ', ') as said
     from outlay_service.transfer t left join outlay_service.quote q on q.id = t.quote ->> 'id'
     where t.quote is not null and t.account_id = any ($1)
     group by 1
     having count(*) > 1
       or bool_or((q.account_id, q.source_value) is distinct from (t.account_id, t.amount_value) or q.expires_at < t.created_at)`,
    [at.tenants.map(({ accountId }) => accountId)],
  )
  return rows.map(({ id, said }) => ({ invariant: 'quotes_once', detail: `${id} was used by ${said}` }))
}
