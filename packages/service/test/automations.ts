import { expect, vi } from 'vitest'
import type { AutomationResource } from '../src/automations/automations.ts'
import type { TransferResource } from '../src/transfers/view.ts'
import type { TestAnswer, TestSandbox } from './sandbox.ts'

/** What a simulated deposit answers. */
export interface DepositAnswer {
  readonly status: 'credited' | 'returned' | 'pending'
  readonly bank_reference: string
  readonly transfer_id: string | null
  readonly return_reason: string | null
}

/** Body of a refusal. */
export interface Refusal {
  readonly code?: string
  readonly errors?: readonly { readonly source: { readonly pointer: string } }[]
}

/** Calls about automations of the first account of a sandbox. */
export interface TestAutomations {
  /** Where `body` is merged over a body that is right. */
  create(body?: object, key?: string): Promise<TestAnswer<AutomationResource & Refusal>>
  read(id: string): Promise<AutomationResource>
  reaches(id: string, status: string): Promise<AutomationResource>
  change(id: string, body: unknown): Promise<TestAnswer<AutomationResource & Refusal>>
  /** Creates one and lets the bank open its account. */
  open(body?: object): Promise<AutomationResource>
  accountNumberOf(automation: AutomationResource): string
  wire(automation: AutomationResource, body: object): Promise<TestAnswer<DepositAnswer & Refusal>>
  ach(automation: AutomationResource, body: object): Promise<TestAnswer<DepositAnswer & Refusal>>
  transfers(filter: string): Promise<readonly TransferResource[]>
  transferReaches(id: string | null, status: string): Promise<TransferResource>
  advance(seconds: number): Promise<void>
  addWallet(address: string): Promise<string>
}

const patience = { timeout: 30_000, interval: 25 }

/** Makes the calls. */
export function testAutomations(api: TestSandbox): TestAutomations {
  const path = `/accounts/${api.accountId}`
  const destination = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const standard = { name: 'Treasury', source: { value_type: 'USD' }, destination }
  const deposit = (rail: string, automation: AutomationResource, body: object) => {
    const sent = { account_number: calls.accountNumberOf(automation), ...body }
    return api.call<DepositAnswer & Refusal>('POST', `/simulations/${rail}`, { body: sent })
  }
  const calls: TestAutomations = {
    create: (body = {}, key) =>
      api.call('POST', `${path}/automations`, {
        body: { ...standard, ...body },
        ...(key === undefined ? {} : { key }),
      }),
    read: async (id) => (await api.call<AutomationResource>('GET', `${path}/automations/${id}`)).body,
    reaches: (id, status) =>
      vi.waitFor(async () => {
        const automation = await calls.read(id)
        expect(automation.status).toBe(status)
        return automation
      }, patience),
    change: (id, body) => api.call('PATCH', `${path}/automations/${id}`, { body }),
    async open(body) {
      const { id } = (await calls.create(body)).body
      await calls.reaches(id, 'processing')
      await vi.waitFor(async () => {
        await calls.advance(1)
        expect((await calls.read(id)).status).toBe('active')
      }, patience)
      return await calls.read(id)
    },
    accountNumberOf: ({ source }) => source.funding_instructions?.account_number ?? 'none',
    wire: (automation, body) => deposit('wires', automation, body),
    ach: (automation, body) => deposit('ach-credits', automation, body),
    transfers: async (filter) =>
      (await api.call<{ transfers: TransferResource[] }>('GET', `${path}/transfers?${filter}`)).body.transfers,
    transferReaches: (id, status) =>
      vi.waitFor(async () => {
        const { body } = await api.call<TransferResource>('GET', `${path}/transfers/${id}`)
        expect(body.status).toBe(status)
        return body
      }, patience),
    async advance(seconds) {
      await api.call('POST', '/simulations/clock/advance', { body: { seconds } })
    },
    async addWallet(address) {
      const body = { name: 'Payee', address, transfer_types: ['base'] }
      return (await api.call<{ id: string }>('POST', `${path}/addresses/external`, { body })).body.id
    },
  }
  return calls
}
