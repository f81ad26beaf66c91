/** Chaos over several nodes, in real time. See "Chaos over several nodes" in docs/reliability/searching.md. */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { runShardChaos } from './shard-chaos.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const minutes = Number(values.minutes)
const seed = values.seed === undefined ? Math.floor(Date.now() / 1_000) % 1_000_000_000 : Number(values.seed)
const isUsable = minutes > 0 && Number.isSafeInteger(seed)
if (values.help || !isUsable) {
  process.stdout.write('Usage: chaos:shards [--minutes M] [--seed S]\n')
  process.exit(values.help ? 0 : 2)
}
process.stdout.write(`Seed ${seed}, faults for ${minutes} min\n`)
const { faults, moves, longestPauseMs, promised, restMs, verdict } = await runShardChaos({
  seed,
  faultsForMs: minutes * 60_000,
  onFault: (detail) => void process.stdout.write(`${detail}\n`),
})
const wrong = [...verdict.lost, ...verdict.twice, ...verdict.violations]
process.stdout.write(`
${faults.length} faults, ${moves} moves, the longest with a pause of ${(longestPauseMs / 1_000).toFixed(1)} s
${verdict.payouts} payouts, ${promised} promised; everything had ended ${(restMs / 1_000).toFixed(1)} s after the last fault
${verdict.lost.length} lost, ${verdict.twice.length} twice, ${verdict.violations.length} violations
${wrong.slice(0, 40).join('\n')}
`)
process.exitCode = wrong.length === 0 ? 0 : 1
