import type { Group, HealthFacts } from '@outlay/adapters-pg'
import { plural } from '../output/table.ts'
import { type Finding, serious, warning } from './finding.ts'

const nameAll = ({ count, samples }: Group): string =>
  `${samples.join(', ')}${count > samples.length ? ` and ${count - samples.length} more` : ''}`

/** Finds transfers of which the service says that it paid another amount than was asked for. */
export function diagnosePaid({ transfers }: HealthFacts): readonly Finding[] {
  const { paidOtherwise, returnedBeyond } = transfers
  const findings: Finding[] = []
  if (paidOtherwise.count > 0) {
    const what = `Of ${plural(paidOtherwise.count, 'transfer')} another amount was paid than was asked for, in the last seven days: ${nameAll(paidOtherwise)}.`
    const cure =
      'Handlers get it as paidAmount. "outlay transfers show" has both amounts: see that the books have what was paid, and ask the service why.'
    findings.push(warning('paid_another_amount', what, cure))
  }
  if (returnedBeyond.count > 0) {
    const what = `Of ${plural(returnedBeyond.count, 'transfer')} more came back than was paid, since the service corrected what it paid: ${nameAll(returnedBeyond)}.`
    const cure =
      'Handlers have got what came back, and get no further event. "outlay transfers show" has both: ask the service what is right, and correct the books by hand.'
    findings.push(serious('returned_more_than_paid', what, cure))
  }
  return findings
}
