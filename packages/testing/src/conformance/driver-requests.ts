import type { Engine, EnqueueRequest } from '@outlay/core'
import { expect, it } from 'vitest'
import { withAdmin } from '../database.ts'

/** Requests are stored as JSON objects, never as JSON text within a JSON string, and the database refuses the latter. */
export function describeRequests<Tx>(
  { transaction }: { transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> },
  engine: Engine<Tx>,
  payout: (accountId: string) => EnqueueRequest,
  url: string,
): void {
  it('writes requests as JSON objects, which the database would refuse as strings', async () => {
    const of = () => ({ ...payout('encoded'), metadata: { order: '7' } })
    const one = await transaction((tx) => engine.transfers.enqueue(tx, of()))
    await transaction((tx) => engine.transfers.enqueueMany(tx, [of(), of()]))
    await withAdmin(url, async (admin) => {
      const encoded = `from outlay.transfer t where t.account_id = 'encoded'`
      const { rows } = await admin.query(`select jsonb_typeof(t.request) as type ${encoded}`)
      expect(rows).toEqual([{ type: 'object' }, { type: 'object' }, { type: 'object' }])
      const text = `insert into outlay.transfer (id, account_id, idempotency_key, fingerprint, request)
        select 'twice', t.account_id, 'twice', t.fingerprint, to_jsonb(t.request::text) ${encoded} and t.id = $1`
      await expect(admin.query(text, [one.id])).rejects.toThrow(/transfer_request_is_an_object/)
    })
  })
}
