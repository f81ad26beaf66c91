import type { Verdict } from './verdict.ts'

/** Most violations that are printed. */
const mostPrinted = 20

/** What became of the payouts, line by line. */
export function reportVerdict(verdict: Verdict): readonly string[] {
  const { payouts, promised, unknown, withdrawn, attempts, lost, twice, unasked, violations } = verdict
  const counts: readonly (readonly [string, number])[] = [
    ['payouts committed', payouts],
    ['  answered to the host', promised],
    ['payouts whose commit was not answered', unknown],
    ['payouts rolled back', withdrawn],
    ['requests sent for a transfer', attempts],
    ['lost', lost],
    ['paid twice', twice],
    ['paid although rolled back', unasked],
    ['violations', violations.length],
  ]
  const broken = violations.slice(0, mostPrinted).map(({ invariant, detail }) => `  ${invariant}: ${detail}`)
  return [...counts.map(([what, count]) => `${what.padEnd(38)} ${String(count).padStart(8)}`), ...broken]
}

/** True when nothing that must not be was found. */
export const isClean = ({ violations, twice }: Verdict): boolean => violations.length === 0 && twice === 0
