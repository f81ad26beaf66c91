import { describe, expect, it } from 'vitest'
import { claimedAt, sampleClaim } from '../../test/sample-claim.ts'
import type { Claim } from '../ports/claim.ts'
import type { SubmitResult } from '../ports/gateway.ts'
import type { TransferRequest } from '../transfer-request.ts'
import type { Reroute } from './gateways.ts'
import { decideReroute } from './rerouting.ts'
import { decideSubmission } from './submission.ts'

const closed = { outcome: 'rejected', code: 'closed', detail: 'No such rail.', nothingMoved: true } as const

function decide(result: SubmitResult, claimed: Partial<Claim> = {}, reroute: Reroute | undefined = () => 'second') {
  const errors: object[] = []
  const claim = sampleClaim(claimed)
  const names = ['default', 'second']
  const parts = {
    reroute,
    gateways: { names, find: (name: string) => (names.includes(name) ? ({} as never) : undefined) },
    logger: { error: (fields: object) => void errors.push(fields) },
  }
  const context = { now: claimedAt, fraction: 0.5, firstPollMs: 1 }
  const request = claim.request as TransferRequest
  const { rerouteTo } = decideReroute(parts, claim, result, request, decideSubmission(claim, result, context))
  return { rerouteTo, errors }
}

describe('the gateway that takes a refused transfer over', () => {
  it('is the one that the host names, by request, account and refusal', () => {
    const asked: unknown[] = []
    const reroute: Reroute = (...values) => {
      asked.push(values)
      return 'second'
    }
    expect(decide(closed, {}, reroute)).toEqual({ rerouteTo: 'second', errors: [] })
    const refusal = { gateway: 'default', code: 'closed', detail: 'No such rail.' }
    expect(asked).toEqual([[sampleClaim().request, 'acme', refusal]])
  })

  it.each<[string, SubmitResult, Partial<Claim>]>([
    ['that does not say that nothing moved', { ...closed, nothingMoved: undefined }, {}],
    ['that says it in other words', { ...closed, nothingMoved: 'true' as never }, {}],
    ['that somebody else may have given', { ...closed, mayHaveActed: true }, {}],
    ['of a server with a fault', { ...closed, httpStatus: 502 }, {}],
    ['of a key in flight', { ...closed, httpStatus: 409 }, {}],
    ['of a service that is busy', { ...closed, httpStatus: 429 }, {}],
    ['behind an unknown outcome', { ...closed, keyEvaluated: true }, { unknownSince: claimedAt.toISOString() }],
    ['that is none', { outcome: 'unknown', detail: 'reset' }, {}],
    ['for want of money', { outcome: 'insufficient_balance', detail: 'empty', nothingMoved: true } as never, {}],
    ['that only asks for a pause', { outcome: 'throttled', detail: 'busy', nothingMoved: true } as never, {}],
    ['of credentials', { outcome: 'unauthorized', detail: 'no', nothingMoved: true } as never, {}],
  ])('is not asked for after a refusal %s', (_, result, claimed) => {
    const reroute = () => {
      throw new Error('asked')
    }
    expect(decide(result, claimed, reroute)).toEqual({ rerouteTo: undefined, errors: [] })
  })

  it('is not asked for by an engine that reroutes nothing, nor for an address that this gateway has registered', () => {
    const { request } = sampleClaim()
    const address = { name: 'Ada', fingerprint: 'f' } as never
    const registered = { ...request, destination: { ...request.destination, address } }
    expect(decide(closed, { request: registered })).toEqual({ rerouteTo: undefined, errors: [] })
    const claim = sampleClaim()
    const parts = { gateways: { names: [], find: () => undefined }, logger: { error: () => undefined } }
    const settlement = decideSubmission(claim, closed, { now: claimedAt, fraction: 0.5, firstPollMs: 1 })
    expect(decideReroute(parts, claim, closed, claim.request as TransferRequest, settlement)).toBe(settlement)
  })

  it.each<[string, unknown]>([
    ['"third"', () => 'third'],
    ['"default"', () => 'default'],
    ['a promise', async () => 'second'],
    [
      'an error (TypeError)',
      () => {
        throw new TypeError('no idea')
      },
    ],
  ])('leaves the refusal as it is and says so, where the host names none: %s', (answer, reroute) => {
    const { rerouteTo, errors } = decide(closed, {}, reroute as Reroute)
    expect(rerouteTo).toBeUndefined()
    expect(errors).toMatchObject([{ gateway: 'default', answer, known: ['default', 'second'] }])
  })

  it('is none where the host names none, without a word', () => {
    expect(decide(closed, {}, () => undefined)).toEqual({ rerouteTo: undefined, errors: [] })
  })
})
