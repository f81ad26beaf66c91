import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TransferFailure } from './transfer-failure.ts'
import { type StatusState, TransferStatus } from './transfer-status.ts'

const iso = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
const failureAt = (minute: number, retriable: boolean): TransferFailure => ({
  type: 'returned',
  code: `R${minute}`,
  detail: '',
  occurredAt: iso(minute),
  retriable,
})

const start: StatusState = { status: 'pending', failure: null }
const fold = (observations: readonly StatusState[], from = start) =>
  observations.reduce((state, seen) => TransferStatus.advance(state, seen) ?? state, from)
const withoutTime = ({ status, failure }: StatusState): StatusState => ({ status, failure })

/** A true history: a walk through the transition table whose moments increase, failures included that were overcome. */
const history = fc
  .tuple(
    fc.nat({ max: 3 }),
    fc.constantFrom('pending', 'processing', 'failed', 'complete', 'canceled', 'failed for good'),
  )
  .map(([failures, end]) => {
    const states: StatusState[] = [{ status: 'pending', failure: null, reachedAt: iso(0) }]
    const reach = (status: StatusState['status'], failure: TransferFailure | null = null) =>
      states.push({ status, failure, reachedAt: iso(states.length) })
    const fail = (retriable: boolean) => reach('failed', failureAt(states.length, retriable))
    if (end === 'pending') return states
    reach('processing')
    for (let count = 0; count < failures; count += 1) {
      fail(true)
      reach('processing')
    }
    if (end === 'failed') fail(true)
    if (end === 'failed for good') fail(false)
    if (end === 'complete' || end === 'canceled') reach(end)
    return states
  })

/** Every state of a history at least once, some of them again, in any order: webhooks and polls as they come. */
const interleaved = history.chain((states) =>
  fc
    .array(fc.constantFrom(...states), { maxLength: 8 })
    .chain((again) =>
      fc
        .shuffledSubarray([...states, ...again], { minLength: states.length + again.length })
        .map((seen) => ({ states, seen })),
    ),
)

const reachable: Record<StatusState['status'], readonly StatusState['status'][]> = {
  pending: ['pending', 'processing', 'failed', 'canceled', 'complete'],
  processing: ['processing', 'failed', 'canceled', 'complete'],
  failed: ['processing', 'failed', 'canceled', 'complete'],
  canceled: [],
  complete: [],
}

describe('a transfer whose status is watched by webhooks and polls', () => {
  it('ends where its history ends, in whatever order it is observed', () => {
    fc.assert(
      fc.property(interleaved, ({ states, seen }) => {
        expect(withoutTime(fold(seen))).toEqual(withoutTime(states.at(-1) ?? start))
      }),
      { numRuns: 1000 },
    )
  })

  it('ends where its history ends even without times, once the last state is read', () => {
    fc.assert(
      fc.property(interleaved, ({ states, seen }) => {
        const last = states.at(-1) ?? start
        const end = [...seen, last].reduce(
          (state, observation) => withoutTime(TransferStatus.advance(state, observation) ?? state),
          start,
        )
        expect(end).toEqual(withoutTime(last))
      }),
      { numRuns: 1000 },
    )
  })

  it('ends the same in any order without times, as long as it overcame no failure', () => {
    fc.assert(
      fc.property(interleaved, ({ states, seen }) => {
        const untimed = (list: readonly StatusState[]) => fold(list.map(withoutTime))
        expect(untimed(seen)).toEqual(untimed(states))
        const failures = states.filter(({ status }) => status === 'failed').length
        if (failures === 0) expect(untimed(seen)).toEqual(withoutTime(states.at(-1) ?? start))
      }),
      { numRuns: 1000 },
    )
  })

  it('never leaves a final status and never goes back', () => {
    const status = fc.constantFrom<StatusState['status'][]>('pending', 'processing', 'failed', 'canceled', 'complete')
    const anything = fc
      .record({ status, minute: fc.nat(20), retriable: fc.boolean(), timed: fc.boolean(), failing: fc.boolean() })
      .map(
        ({ status, minute, retriable, timed, failing }): StatusState => ({
          status,
          failure: status === 'failed' || failing ? failureAt(minute, retriable) : null,
          ...(timed ? { reachedAt: iso(minute) } : {}),
        }),
      )
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 20 }), (observations) => {
        let state = start
        for (const seen of observations) {
          const next = TransferStatus.advance(state, seen)
          if (next === undefined) continue
          expect(TransferStatus.isFinal(state.status, state.failure)).toBe(false)
          expect(reachable[state.status]).toContain(next.status)
          if (state.status === 'failed') expect(state.failure?.retriable).toBe(true)
          expect(next.failure === null).toBe(next.status !== 'failed')
          state = next
        }
      }),
      { numRuns: 1000 },
    )
  })
})
