import type { HealthFacts } from '@outlay/adapters-pg'
import { listGroup } from '../output/list-some.ts'
import { plural } from '../output/table.ts'
import { type Finding, serious, warning } from './finding.ts'

/** Finds transfers of which another amount was paid than was asked for, and those that no gateway has paid although one was to. */
export function diagnosePaid({ transfers }: HealthFacts): readonly Finding[] {
  const { paidOtherwise, returnedBeyond, failoverEnded } = transfers
  const findings: Finding[] = []
  if (paidOtherwise.count > 0) {
    const what = `Of ${plural(paidOtherwise.count, 'transfer')} another amount was paid than was asked for, in the last seven days: ${listGroup(paidOtherwise)}.`
    const cure =
      'Handlers get it as paidAmount. "outlay transfers show" has both amounts: see that the books have what was paid, and ask the service why.'
    findings.push(warning('paid_another_amount', what, cure))
  }
  if (returnedBeyond.count > 0) {
    const what = `Of ${plural(returnedBeyond.count, 'transfer')} more came back than was paid, since the service corrected what it paid: ${listGroup(returnedBeyond)}.`
    const cure =
      'Handlers have got what came back, and get no further event. "outlay transfers show" has both: ask the service what is right, and correct the books by hand.'
    findings.push(serious('returned_more_than_paid', what, cure))
  }
  if (failoverEnded.count > 0) {
    const what = `${plural(failoverEnded.count, 'transfer')} refused by a gateway, and not handed over to another one as "failover" says, in the last seven days: ${listGroup(failoverEnded)}.`
    const cure =
      'Handlers have got a second transfer.failed. The log says why. Before "outlay transfers resubmit", with "--gateway" for another one, ask that gateway where the reason is failover_late.'
    findings.push(warning('failover_ended', what, cure))
  }
  return findings
}
