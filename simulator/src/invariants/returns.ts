import type { Violation } from '../violation.ts'
import type { Evidence } from './evidence.ts'
import { allEvents } from './histories.ts'

/** Every return at the service is one event here, of the transfer that has its id there. */
export async function checkReturns(at: Pick<Evidence, 'environment' | 'tenants'>): Promise<readonly Violation[]> {
  const { rows: made } = await at.environment.service.query<{ readonly remote_id: string; readonly said: string }>(
    `select r.transfer_id as remote_id, concat_ws(' ', r.code, r.amount_value::float8, r.amount_currency) as said
     from outlay_service.transfer_return r where r.account_id = any ($1)`,
    [at.tenants.map(({ accountId }) => accountId)],
  )
  const { rows: known } = await at.environment.host.query<{ readonly remote_id: string }>(
    'select remote_id from outlay.transfer where remote_id is not null',
  )
  const { rows: events } = await at.environment.host.query<{ readonly remote_id: string; readonly said: string }>(
    `select t.remote_id, concat_ws(' ', e.returned ->> 'code', (e.returned -> 'amount' ->> 'value')::float8,
       e.returned -> 'amount' ->> 'currency') as said
     from ${allEvents} e join outlay.transfer t on t.id = e.transfer_id where e.type = 'transfer.returned'`,
  )
  const ours = new Set(known.map(({ remote_id }) => remote_id))
  const lines = (rows: readonly { readonly remote_id: string; readonly said: string }[]) =>
    rows.map(({ remote_id, said }) => `${remote_id} ${said}`).sort()
  const wanted = lines(made.filter(({ remote_id }) => ours.has(remote_id)))
  const found = lines(events)
  if (JSON.stringify(wanted) === JSON.stringify(found)) return []
  return [
    { invariant: 'returns_once', detail: `${wanted.join(', ')} came back, and the events say ${found.join(', ')}` },
  ]
}
