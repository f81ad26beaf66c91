import type { TransferEvidence } from '@outlay/adapters-pg'
import { fingerprint } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { judge } from './verdict.ts'

const request = {
  amount: { value: '12.50', currency: 'USD' },
  source: { valueType: 'USDC', transferType: 'base' },
  destination: { addressId: 'b', valueType: 'USD', transferType: 'wire' },
}
const at = '2026-01-01T00:00:00.000000Z'
type Change = Partial<Omit<TransferEvidence, 'transfer'>> & {
  readonly transfer?: Partial<TransferEvidence['transfer']>
}

function evidence(outcomes: readonly (string | null)[], change: Change = {}): TransferEvidence {
  const transfer = {
    ...{
      id: '01J0000000000000000000000A',
      accountId: 'acme',
      idempotencyKey: 'INV-1',
      fingerprint: fingerprint(request),
      request,
    },
    ...{ notBefore: null, expiresAt: null, stage: 'queued', status: 'pending', failure: null, remoteId: null },
    ...{ attempt: outcomes.length, reason: null, createdAt: at, updatedAt: at },
    ...change.transfer,
  } as TransferEvidence['transfer']
  const { stage, status, remoteId, attempt } = transfer
  const attempts = outcomes.map((outcome, index) => ({
    ...{ attempt: index + 1, worker: 'w', claimedAt: at, answeredAt: outcome === null ? null : at, outcome },
    ...{ detail: null, httpStatus: null, requestId: null, remoteId: null, gateway: null },
  }))
  return {
    ...{ summary: {} as TransferEvidence['summary'], unknownSince: null, eventSequence: 1, attempts },
    events: [
      {
        sequence: 1,
        type: 'transfer.x',
        stage,
        status,
        reason: null,
        remoteId,
        attempt,
        occurredAt: at,
        returned: null,
      },
    ],
    ...{
      returns: [],
      deliveries: [],
      subscriptions: [],
      otherSubscriptions: [],
      archivedAt: null,
      sameRemoteId: [],
      sameRequest: [],
    },
    ...change,
    transfer,
  }
}

const accepted = { stage: 'settled', status: 'complete', remoteId: 'r-1' } as const

describe('a verdict', () => {
  it('is one effect when the service has it, even after answers were lost', () => {
    const verdict = judge(evidence(['unknown', null, 'accepted'], { transfer: accepted }))
    expect(verdict.conclusion).toBe('one_effect')
    expect(verdict.because.join(' ')).toContain('2 attempts got no answer, and a later one with the same key did.')
    expect(judge(evidence(['accepted'], { transfer: accepted })).because[0]).toContain(
      'Its one attempt carried the key INV-1',
    )
  })

  it('is a contradiction when the service accepted it under another id as well', () => {
    const attempts = evidence(['accepted', 'accepted']).attempts.map((one, index) => ({
      ...one,
      remoteId: `r-${index}`,
    }))
    const { conclusion, because } = judge(evidence([], { transfer: { ...accepted, attempt: 2 }, attempts }))
    expect(conclusion).toBe('contradiction')
    expect(because).toEqual(['This does not hold: the service accepted it under that id alone.'])
  })

  it('is one effect without an attempt when the engine adopted it', () => {
    const adopted = { ...accepted, idempotencyKey: 'adopted r-1' }
    const { conclusion, because } = judge(evidence([], { transfer: adopted }))
    expect(conclusion).toBe('one_effect')
    expect(because[0]).toContain('no request for it ever left from here')
    expect(judge(evidence([], { transfer: adopted, sameRemoteId: ['other'] })).conclusion).toBe('contradiction')
    expect(judge(evidence([], { transfer: accepted })).conclusion).toBe('contradiction')
  })

  it('is no effect when nothing was sent, or it was refused', () => {
    expect(judge(evidence([], { transfer: { stage: 'settled', status: 'canceled' } })).conclusion).toBe('no_effect')
    const refused = judge(evidence(['rejected'], { transfer: { stage: 'settled', status: 'failed' } }))
    expect(refused.conclusion).toBe('no_effect')
  })

  it('is not known while a request has no answer, and also after a release forgot since when', () => {
    expect(judge(evidence(['unknown'], { unknownSince: at })).conclusion).toBe('unknown')
    expect(judge(evidence([null], { transfer: { stage: 'submitting' } })).conclusion).toBe('unknown')
    expect(judge(evidence(['unknown'])).because.join(' ')).toContain('Money moved once or not at all.')
  })

  it('counts the registration of a counterparty as no effect, whatever its outcome', () => {
    const open = evidence(['unknown', null], { transfer: { stage: 'submitting' } })
    const registering = open.attempts.map((attempt) => ({ ...attempt, step: 'registration' as const }))
    expect(judge({ ...open, attempts: registering }).conclusion).toBe('undecided')
    expect(judge({ ...open, attempts: registering }).because[0]).toContain('2 attempts went into registering')
    const canceled = evidence(['unknown'], { transfer: { stage: 'settled', status: 'canceled' } })
    expect(judge({ ...canceled, attempts: registering.slice(0, 1) }).conclusion).toBe('no_effect')
    const sent = evidence(['unknown', null, 'accepted'], { transfer: accepted })
    const attempts = [...registering, ...sent.attempts.slice(2)]
    const verdict = judge({ ...sent, attempts })
    expect(verdict.conclusion).toBe('one_effect')
    expect(verdict.because[1]).toContain('Its one attempt carried the key INV-1')
    const claimed = { ...sent, attempts: registering.concat(registering.slice(0, 1)) }
    expect(
      judge({ ...claimed, attempts: claimed.attempts.map((one) => ({ ...one, outcome: 'accepted' })) }),
    ).toMatchObject({ conclusion: 'contradiction' })
  })

  it.each<[string, string, string | null, string]>([
    ['a reconciliation found one like it', 'reconciled', null, 'unknown'],
    ['a person said which one it is', 'reconciled', 'r-1', 'contradiction'],
    ['a person said that it was not paid', 'resolved', null, 'no_effect'],
  ])('of a transfer that ended before %s', (_, outcome, remoteId, conclusion) => {
    const transfer = { stage: 'settled', status: 'canceled', attempt: 1 } as const
    const attempts = evidence([outcome]).attempts.map((one) => ({ ...one, remoteId, detail: 'said' }))
    const verdict = judge(evidence([outcome], { transfer, attempts }))
    expect(verdict.conclusion).toBe(conclusion)
    if (conclusion !== 'contradiction') expect(verdict.because[0]).toContain('said')
  })

  it('is undecided while it waits and every answer was a refusal', () => {
    expect(judge(evidence([])).conclusion).toBe('undecided')
    expect(judge(evidence(['insufficient_balance'], { transfer: { stage: 'awaiting_funds' } })).conclusion).toBe(
      'undecided',
    )
  })

  it.each<[string, TransferEvidence]>([
    ['a request that was changed', evidence([], { transfer: { fingerprint: 'x' } })],
    ['a lost line of the log', evidence(['accepted'], { transfer: { ...accepted, attempt: 2 } })],
    ['a lost event', evidence([], { eventSequence: 2 })],
    ['a status without an event', evidence([], { events: [] })],
    [
      'an id at the service that another transfer has',
      evidence(['accepted'], { transfer: accepted, sameRemoteId: ['x'] }),
    ],
    [
      'an acceptance that came after it had been canceled',
      evidence(['accepted', 'insufficient_balance'], { transfer: { stage: 'settled', status: 'canceled' } }),
    ],
    [
      'an acceptance that came after a person had said that it was not paid',
      evidence(['accepted', 'resolved'], {
        transfer: { stage: 'settled', status: 'failed', failure: { code: 'not_paid' } as never },
      }),
    ],
    ['an id at the service that no answer gave', evidence(['unknown'], { transfer: accepted })],
  ])('is a contradiction for %s', (_, broken) => {
    const verdict = judge(broken)
    expect(verdict.conclusion).toBe('contradiction')
    expect(verdict.because[0]).toContain('This does not hold')
  })
})
