import { plural, printable } from '../output/table.ts'
import type { Session } from '../session/session.ts'
import { diagnoseControl } from './control.ts'
import { examine } from './examination.ts'
import type { Finding } from './finding.ts'
import { testListening } from './listening.ts'
import { diagnoseMoves } from './moves.ts'
import { diagnosePlacement } from './placement.ts'

/** Checks for every known problem. Returns the exit code: 1 when something is serious. */
export async function runDoctor(session: Session): Promise<number> {
  const findings = await examine(session, {
    testConnection: () => testListening(session),
    findMore: async () => [
      ...(await diagnosePlacement(session)),
      ...(await diagnoseMoves(session)),
      ...(await diagnoseControl(session)),
    ],
    onProgress: (text) => session.progress(text),
  })
  const grave = findings.filter((finding) => finding.severity === 'serious').length
  session.write({ healthy: grave === 0, findings }, () => formatFindings(findings))
  return grave === 0 ? 0 : 1
}

/** Formats findings, each with its cure. */
export function formatFindings(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'All is well.'
  const lines = findings.map(({ severity, code, what, cure }) => {
    const mark = severity === 'serious' ? 'SERIOUS' : 'warning'
    return `${mark}  ${code}\n  ${printable(what)}\n  → ${printable(cure)}`
  })
  const grave = findings.filter((finding) => finding.severity === 'serious').length
  const sum = `${plural(findings.length, 'finding')}, ${grave === 0 ? 'none of them serious' : `${grave} serious`}.`
  return [...lines, sum].join('\n\n')
}
