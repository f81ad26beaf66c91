import { describe, expect, it } from 'vitest'
import type { HeldState } from '../ports/holds.ts'
import { approveAll, type HoldingBackend } from './holding.ts'

const hold = {
  ...({ name: 'approval', policy: 'large', why: 'it is large', since: '2026-11-26T12:00:00.000Z' } as const),
  requirement: { steps: [{ count: 2 }], inOrder: false },
} as const
const state: HeldState = { createdBy: 'carl', holds: [hold], approvals: [], isExpired: false }

describe('the approval of very many transfers', () => {
  it('gives other work of the process a turn with each of them, before anything is written and after', async () => {
    const states = new Map(Array.from({ length: 300 }, (_, at) => [`transfer-${at}`, state] as const))
    const done: string[] = []
    const backend = {
      addApproval: async () => void done.push('written'),
      getHoldsOf: async () => states,
      recordAudit: async () => void done.push('audit'),
    } as unknown as HoldingBackend<null>
    const endTurn = async () => void done.push('turn')
    expect(await approveAll(backend, null, states, { actor: 'anna' }, endTurn)).toEqual({ approved: 300, released: 0 })
    const written = done.indexOf('written')
    expect(done.slice(0, written)).toEqual(Array(300).fill('turn'))
    expect(done.slice(written + 1)).toEqual(Array(300).fill(['audit', 'turn']).flat())
  })
})
