import { TransferStatus } from '@outlay/core'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type PolledTransfers, railsGateway, UnreadableInstructionError } from './gateway.ts'
import type { RailAnswer, RailInstruction, RailPayment, Rails } from './port.ts'

const leg = { valueType: 'USDC', transferType: 'base', custodial: false, address: '0x' }
const instruction: RailInstruction = {
  transferId: 'T',
  accountId: 'A',
  flow: 'payout',
  amount: { value: '1', currency: 'USDC' },
  source: leg,
  destination: leg,
  statementName: 'Acme',
}
const submission = { transferId: 'T', accountId: 'A', idempotencyKey: 'T', request: instruction as never, attempt: 1 }
const options = { signal: new AbortController().signal, transferId: 'T' }

const railsOf = (answer: RailAnswer, payment?: RailPayment): Rails => ({
  validate: async () => undefined,
  wireInstructions: async () => {
    throw new Error('not called')
  },
  submit: async () => answer,
  get: async () => payment,
  cancel: async () => ({ outcome: 'refused' }),
  start: async () => undefined,
  stop: async () => undefined,
})
/** Transfers that admit what they are given, with some members replaced. */
const transfersWith = (members: Partial<PolledTransfers>): PolledTransfers => ({
  expect: async () => undefined,
  isAwaited: async () => false,
  mayBePaid: async () => false,
  railOf: async () => 'wire',
  admit: async (_, payment) => payment,
  ...members,
})
const failure = {
  type: 'returned',
  code: 'R03',
  detail: '',
  occurredAt: '2026-01-01T00:00:00Z',
  retriable: false,
} as const

describe('submit', () => {
  it('passes the instruction of the transfer to the rail', async () => {
    const seen: RailInstruction[] = []
    const rails: Rails = {
      ...railsOf({ outcome: 'accepted', reference: 'R' }),
      submit: async (given) => {
        seen.push(given)
        return { outcome: 'accepted', reference: 'R' }
      },
    }
    await railsGateway(rails, async () => instruction).submit(submission, options)
    expect(seen).toEqual([instruction])
  })

  it.each([
    ['accepted', 'processing'],
    ['expected', 'pending'],
  ] as const)('%s means %s under the reference of the rail', async (outcome, status) => {
    const gateway = railsGateway(railsOf({ outcome, reference: 'R' }), async () => instruction)
    expect(await gateway.submit(submission, options)).toEqual({
      outcome: 'accepted',
      remoteId: 'R',
      observation: { remoteId: 'R', status, failure: null },
    })
  })

  describe('of an inbound wire', () => {
    const wire = { ...instruction, flow: 'onramp', source: { ...leg, transferType: 'wire' } } as const

    it.each(['expected', 'accepted'] as const)(
      'that is %s is stored, and is pending until its arrival was applied',
      async (outcome) => {
        const expected: unknown[] = []
        let isAwaited = true
        const wires = transfersWith({
          expect: async (...given: unknown[]) => void expected.push(given),
          isAwaited: async () => isAwaited,
        })
        const gateway = railsGateway(railsOf({ outcome, reference: 'R' }), async () => wire, wires)
        expect(await gateway.submit(submission, options)).toMatchObject({ observation: { status: 'pending' } })
        expect(expected).toEqual([[wire, 'R']])
        isAwaited = false
        const status = outcome === 'accepted' ? 'processing' : 'pending'
        expect(await gateway.submit(submission, options)).toMatchObject({ observation: { status } })
      },
    )

    it('that cannot be stored has no answer', async () => {
      const fails = () => Promise.reject(new Error('No connection.'))
      const wires = transfersWith({ expect: fails })
      const gateway = railsGateway(railsOf({ outcome: 'expected', reference: 'R' }), async () => wire, wires)
      await expect(gateway.submit(submission, options)).rejects.toThrow('No connection')
    })
  })

  it.each([
    { outcome: 'throttled', detail: 'Later', retryAfterMs: 5 },
    { outcome: 'unknown', detail: 'Lost' },
  ] as const)('$outcome is passed on unchanged', async (answer) => {
    expect(await railsGateway(railsOf(answer), async () => instruction).submit(submission, options)).toEqual(answer)
  })

  it('marks a refusal as decided after the rail has checked for a payment of the transfer', async () => {
    const refused = { outcome: 'rejected', code: 'closed', detail: 'Closed' } as const
    const gateway = railsGateway(railsOf(refused), async () => instruction)
    expect(await gateway.submit(submission, options)).toEqual({ ...refused, keyEvaluated: true })
  })

  it('does not take a refusal for an end where its rail has reported the payment', async () => {
    const refused = { outcome: 'rejected', code: 'duplicate', detail: '' } as const
    const transfers = transfersWith({ mayBePaid: async () => true })
    const gateway = railsGateway(railsOf(refused), async () => instruction, transfers)
    expect(await gateway.submit(submission, options)).toMatchObject({ outcome: 'unknown' })
  })

  it('sends nothing that may not begin any more once the instruction is read', async () => {
    let isRead = false
    const sent: RailInstruction[] = []
    const rails: Rails = {
      ...railsOf({ outcome: 'accepted', reference: 'R' }),
      submit: async (given) => {
        sent.push(given)
        return { outcome: 'accepted', reference: 'R' }
      },
    }
    const gateway = railsGateway(rails, async () => {
      isRead = true
      return instruction
    })
    const stopped = await gateway.submit(submission, { ...options, mayBegin: () => !isRead })
    expect(stopped).toMatchObject({ outcome: 'throttled', detail: expect.stringMatching('^not sent: ') })
    const late = await gateway.submit(submission, { signal: AbortSignal.abort(), mayBegin: () => true })
    expect(late).toMatchObject({ outcome: 'throttled' })
    expect(sent).toEqual([])
  })

  it('remembers a payment forever, unless the rail says for how long', () => {
    const rails = railsOf({ outcome: 'accepted', reference: 'R' })
    expect(railsGateway(rails, async () => instruction).keyLifetimeMs).toBe(Number.POSITIVE_INFINITY)
    expect(railsGateway({ ...rails, keyLifetimeMs: 1_000 }, async () => instruction).keyLifetimeMs).toBe(1_000)
  })

  it.each([
    [new UnreadableInstructionError({ cause: new Error('secret') }), 60_000],
    [new Error('secret'), undefined],
    ['secret', undefined],
  ])('has sent nothing when the transfer cannot be read', async (error, retryAfterMs) => {
    const gateway = railsGateway(railsOf({ outcome: 'accepted', reference: 'R' }), () => Promise.reject(error))
    const answer = await gateway.submit(submission, options)
    expect(answer).toEqual({ outcome: 'throttled', detail: expect.stringMatching('^not sent: '), retryAfterMs })
    expect(JSON.stringify(answer)).not.toContain('secret')
  })

  it('throws for a transfer that the service does not have', async () => {
    const gateway = railsGateway(railsOf({ outcome: 'accepted', reference: 'R' }), async () => undefined)
    await expect(gateway.submit(submission, options)).rejects.toThrow('does not exist')
  })
})

describe('get', () => {
  it.each([
    ['expected', 'pending', null],
    ['accepted', 'processing', null],
    ['settled', 'complete', null],
    ['rejected', 'failed', failure],
    ['returned', 'failed', failure],
  ] as const)('%s is %s', async (state, status, expected) => {
    const gateway = railsGateway(
      railsOf({ outcome: 'unknown', detail: '' }, { reference: 'R', state, failure }),
      async () => instruction,
    )
    expect(await gateway.get('A', 'R', options)).toEqual({ remoteId: 'R', status, failure: expected })
  })

  it('a retried payment has the time of the retry', async () => {
    const reachedAt = '2026-01-03T00:00:00Z'
    const payment = { reference: 'R', state: 'accepted', failure: null, reachedAt } as const
    const gateway = railsGateway(railsOf({ outcome: 'unknown', detail: '' }, payment), async () => instruction)
    const seen = await gateway.get('A', 'R', options)
    expect(seen).toEqual({ remoteId: 'R', status: 'processing', failure: null, reachedAt })
    const failed = { status: 'failed', failure: { ...failure, retriable: true } } as const
    expect(seen && TransferStatus.advance(failed, seen)).toMatchObject({ status: 'processing' })
  })

  const settled = { reference: 'R', state: 'settled', failure: null } as const
  const gatewayOf = (payment: unknown, members: Partial<PolledTransfers> = {}) =>
    railsGateway(
      railsOf({ outcome: 'unknown', detail: '' }, payment as RailPayment),
      async () => instruction,
      transfersWith(members),
    )

  it('says of a payment what its transfer admits', async () => {
    const asked: unknown[] = []
    const admit: PolledTransfers['admit'] = async (...given) => {
      asked.push(given)
      return { reference: 'R', state: 'accepted' }
    }
    const amount = { value: '1', currency: 'USDC' }
    const seen = await gatewayOf({ ...settled, amount }, { admit }).get('A', 'R', options)
    expect(seen).toEqual({ remoteId: 'R', status: 'processing', failure: null })
    expect(asked).toEqual([['T', { ...settled, amount }]])
  })

  it.each(['accepted', 'settled', 'rejected', 'returned', 'canceled'] as const)(
    'a payment that is %s moves nothing when nobody says of which transfer it is',
    async (state) => {
      const { signal } = options
      const seen = await gatewayOf({ reference: 'R', state, failure }).get('A', 'R', { signal })
      expect(seen).toEqual({ remoteId: 'R', status: 'pending', failure: null })
    },
  )

  it.each([
    ['state', { ...settled, state: 'done' }],
    ['reference', { ...settled, reference: 'R\n' }],
    ['amount', { ...settled, amount: { value: '-1', currency: 'USDC' } }],
    ['amount', { ...settled, amount: { value: 1n, currency: 'USDC' } }],
    ['', null],
  ])('a payment whose %s the port does not describe says nothing', async (field, payment) => {
    await expect(gatewayOf(payment).get('A', 'R', options)).rejects.toThrow(`describes: ${field}`)
  })

  it('asks no rail again whose reads hang, and the others as before', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const asked: string[] = []
    const get: Rails['get'] = async (reference) => {
      asked.push(reference)
      return reference.startsWith('W') ? await new Promise(() => undefined) : { ...settled, reference }
    }
    const transfers = transfersWith({ railOf: async (id) => (id.startsWith('W') ? 'wire' : 'base') })
    const rails = { ...railsOf({ outcome: 'unknown', detail: '' }), get }
    const gateway = railsGateway(rails, async () => instruction, transfers)
    const poll = (name: string) => gateway.get('A', name, { ...options, transferId: name })
    for (let count = 0; count < 4; count += 1) void poll('W')
    await vi.advanceTimersByTimeAsync(5_000)
    await expect(poll('W')).rejects.toThrow('does not answer')
    expect(await poll('B')).toMatchObject({ remoteId: 'B', status: 'complete' })
    expect(asked).toEqual(['W', 'W', 'W', 'W', 'B'])
  })

  it('an unknown payment is undefined', async () => {
    const gateway = railsGateway(railsOf({ outcome: 'unknown', detail: '' }), async () => instruction)
    expect(await gateway.get('A', 'R', options)).toBeUndefined()
  })
})
