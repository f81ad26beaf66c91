import type { HealthFacts } from '@outlay/adapters-pg'
import type { Unfamiliarity } from '@outlay/core'
import { listSome } from '../output/list-some.ts'
import { plural } from '../output/table.ts'
import { type Finding, serious } from './finding.ts'

const unfamiliar: Readonly<Record<Unfamiliarity, string>> = {
  other_server: 'This database is on another server than the one that workers know: it is a copy, or it was moved.',
  other_database: 'This is another database than the one that workers know: it is a copy, or it was moved.',
  other_deployment: 'This database belongs to another deployment.',
}

/** Finds what keeps everything, or whole accounts, from being sent. These findings come first. */
export function diagnoseSending({ sending }: HealthFacts): readonly Finding[] {
  const findings: Finding[] = []
  if (sending.unfamiliar !== null) {
    const cure =
      'If this database is not to pay, leave it. If it is the one to pay from now, stop the workers of the other one, then run "outlay adopt-database".'
    findings.push(serious('database_unfamiliar', `${unfamiliar[sending.unfamiliar]} Nothing is sent.`, cure))
  }
  if (sending.fence !== null) {
    const { since, reason, actor } = sending.fence
    const why = reason === null ? '' : ` (${reason})`
    const who = actor === null ? '' : ` by ${actor}`
    const what = `Fenced since ${since}${who}${why}: the service may be ahead of this database, and nothing is sent.`
    findings.push(
      serious('fenced', what, 'Run "outlay reconcile --since <time>" with the time of the restore or earlier.'),
    )
  }
  const whole = sending.stops.filter(({ scope }) => scope !== 'account')
  for (const { scope, name, since, reason, actor } of whole) {
    const what = `Sending is stopped (${name ?? scope}) since ${since}${actor === null ? '' : ` by ${actor}`}${reason === null ? '' : `: ${reason}`}.`
    const option = name === null ? '--all' : `--gateway ${name}`
    findings.push(serious('sending_stopped', what, `Run "outlay start-sending ${option}" when the reason is gone.`))
  }
  const accounts = sending.stops.flatMap(({ scope, name }) => (scope === 'account' && name !== null ? [name] : []))
  if (accounts.length > 0) {
    const what = `${plural(accounts.length, 'account')} stopped: ${listSome(accounts)}.`
    findings.push(
      serious('account_stopped', what, 'Run "outlay start-sending --account <id>" when the reason is gone.'),
    )
  }
  return findings
}
