import type { ScreeningFacts } from '@outlay/adapters-pg'
import { formatDuration } from '../output/duration.ts'
import { plural } from '../output/table.ts'
import { type Finding, serious, warning } from './finding.ts'
import { limits } from './thresholds.ts'

/** Says since when the screener gives no answer, and where nobody screens. */
export function diagnoseScreening(facts: ScreeningFacts): readonly Finding[] {
  const { due, dueMs, failing, failingMs, lastError, samples } = facts
  const findings: Finding[] = []
  const grade = (overMs: number | null, limit: { readonly warning: number; readonly serious: number }) => {
    if ((overMs ?? 0) >= limit.serious) return serious
    return (overMs ?? 0) >= limit.warning ? warning : undefined
  }
  const failed = grade(failingMs, limits.screeningFailingMs)
  if (failed !== undefined) {
    const said = lastError === null ? '' : ` The last error: ${lastError.slice(0, 200)}`
    const what = `The screener gives no answer about ${plural(failing, 'transfer')}, the first for ${formatDuration(failingMs ?? 0)}: ${samples.at(-1)}. They stay held.${said}`
    const cure =
      'Repair the way to the provider of the screening: workers ask again within two minutes. "outlay transfers release --hold screening --policy NAME" lets one go without an answer, by name.'
    findings.push(failed('screening_failing', what, cure))
  }
  const late = grade(dueMs, limits.screeningDueMs)
  if (late !== undefined) {
    const what = `${plural(due, 'transfer')} held for screening and asked about by nobody, the first for ${formatDuration(dueMs ?? 0)}: ${samples[0]}.`
    const cure =
      'Start a worker whose engine has the option "screen", or more of them; one without it sends nothing of this. Raise screeningConcurrency where they are behind.'
    findings.push(late('screening_unattended', what, cure))
  }
  return findings
}
