import { expect, it } from 'vitest'
import { type FaultRecord, runChaos } from './chaos.ts'

it('loses no payout and makes none twice while processes, sessions and cables break', {
  timeout: 600_000,
}, async () => {
  const kinds = ['service_killed', 'postgres_crashed', 'sessions_terminated', 'postgres_silent'] as const
  const faults: FaultRecord[] = []
  const result = await runChaos({
    seed: 7,
    workers: 2,
    rate: 8,
    // Every kind at least once, however slow the machine is.
    rounds: 1,
    faultsForMs: 0,
    kinds,
    onFault: (fault) => void faults.push(fault),
  })
  expect(result.faults).toEqual(faults)
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(kinds))
  expect(result.verdict.violations).toEqual([])
  expect(result.judged.verdict).toMatchObject({ lost: 0, twice: 0, unasked: 0, violations: [] })
  expect(result.judged.verdict.payouts).toBe(result.verdict.payouts)
  expect(result.restMs).not.toBeNull()
  expect(result.verdict).toMatchObject({ lost: 0, twice: 0, unasked: 0 })
  expect(result.verdict.promised).toBeGreaterThan(0)
  expect(result.verdict.payouts).toBeGreaterThanOrEqual(result.verdict.promised)
})
