import { expect, it } from 'vitest'
import { runShardChaos } from './shard-chaos.ts'

it('loses no payout and makes none twice while accounts move between servers, and servers and processes break', {
  timeout: 600_000,
}, async () => {
  const kinds = ['node_crashed', 'directory_cut', 'mover_killed', 'worker_killed'] as const
  const result = await runShardChaos({ seed: 7, faultsForMs: 0, kinds })
  expect(result.faults).toHaveLength(kinds.length)
  expect(result.verdict).toMatchObject({ lost: [], twice: [], violations: [] })
  expect(result.promised).toBeGreaterThan(0)
  expect(result.verdict.payouts).toBeGreaterThanOrEqual(result.promised)
  expect(result.moves).toBeGreaterThan(0)
})
