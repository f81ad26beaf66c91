import { expect, vi } from 'vitest'
import type { TransferResource } from '../src/transfers/view.ts'
import { testAutomations } from './automations.ts'
import { inspect } from './inspection.ts'
import type { TestSandbox } from './sandbox.ts'

/** A transfer of an answer, or its refusal. */
export type TransferAnswer = TransferResource & { readonly code?: string }

/** Calls about transfers that wait, of the first account of a sandbox. */
export function testCancellations(api: TestSandbox) {
  const path = `/accounts/${api.accountId}/transfers`
  const wallet = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const { pool, schema } = api.sandbox.service.context
  const calls = {
    wallet,
    create: (body: object) => api.call<TransferAnswer>('POST', path, { body }),
    read: async (id: string) => (await api.call<TransferAnswer>('GET', `${path}/${id}`)).body,
    cancel: (id: string) => api.call<TransferAnswer>('POST', `${path}/${id}/cancel`),
    /** An inbound wire that its rail waits for. */
    async expectWire(): Promise<string> {
      const source = { value_type: 'USD', transfer_type: 'wire' }
      const { body } = await calls.create({ amount: { value: '9', currency: 'USD' }, source, destination: wallet })
      return body.id
    },
    arrive: (transferId: string) => api.call('POST', '/simulations/wires', { body: { transfer_id: transferId } }),
    reaches: (id: string, status: string) => testAutomations(api).transferReaches(id, status),
    /** Types of the webhook events of a transfer. */
    async events(id: string): Promise<readonly string[]> {
      const text = `select type from ${schema}.webhook_event where body::jsonb -> 'data' ->> 'id' = $1 order by id`
      return (await inspect(pool).query(text, [id])).rows.map(({ type }) => type)
    },
    async entries(id: string): Promise<readonly string[]> {
      const text = `select distinct step from ${schema}.ledger_entry where posting_id = $1 order by step`
      return (await inspect(pool).query(text, [id])).rows.map(({ step }) => step)
    },
    async railStateOf(id: string): Promise<string | undefined> {
      const text = `select state from ${schema}.rail_payment where transfer_id = $1`
      return (await inspect(pool).query(text, [id])).rows[0]?.state
    },
    async balance() {
      const query = 'value_type=USDC&transfer_type=base'
      const { body } = await api.call<{ balance: { value: string }; available: { value: string } }>(
        'GET',
        `/accounts/${api.accountId}/addresses/${api.walletId}/balance?${query}`,
      )
      return { balance: Number(body.balance.value), available: Number(body.available.value) }
    },
    /** Waits until the engine has delivered the end of a transfer. */
    settles: (id: string) =>
      vi.waitFor(async () => {
        const stored = await api.sandbox.service.context.engine.transfers.get(id)
        expect(stored?.stage).toBe('settled')
      }, patience),
  }
  return calls
}

const patience = { timeout: 60_000, interval: 25 }
