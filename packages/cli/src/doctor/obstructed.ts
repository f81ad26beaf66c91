import type { HealthFacts } from '@outlay/adapters-pg'
import { defaultGateway } from '@outlay/core'
import { formatDuration } from '../output/duration.ts'
import { listSome } from '../output/list-some.ts'
import { plural } from '../output/table.ts'
import { type Finding, serious, warning } from './finding.ts'
import { limits } from './thresholds.ts'

type Obstructed = HealthFacts['obstructed'][number]

const findings: Readonly<Record<Obstructed['reason'], { readonly what: string; readonly cure: string }>> = {
  misconfigured: {
    what: 'do not get through, because the gateway is not configured correctly',
    cure: 'Correct what the last attempt names: the path of baseUrl or tokenUrl, http or https, the certificate of the service or the authorities that the workers trust. Then restart the workers; the same keys go out again.',
  },
  unreachable: {
    what: 'do not get through, because the gateway cannot be reached',
    cure: 'See whether the service runs, and whether the machine of a worker reaches its address: the host name and port of baseUrl, DNS, firewall and proxy. The same keys go out again without a command.',
  },
  poll_failed: {
    what: 'are submitted, and the gateway gets an error in place of their status',
    cure: 'See whether the service answers: it may fail (HTTP 5xx), refuse the credentials (401, 403) or say what the gateway does not understand; the log of a worker has the error at the level debug. The statuses are read again without a command.',
  },
  credentials_unavailable: {
    what: 'do not get through, because the credentials of their accounts could not be read',
    cure: 'See whether the function that returns the credentials answers in time, and whether the vault has those of the account. The same keys go out again without a command.',
  },
}

/** Finds transfers that do not get through to the service: by account and client, which for HTTP contains the address. */
export function diagnoseObstructed({ obstructed }: Pick<HealthFacts, 'obstructed'>): readonly Finding[] {
  const reasons = Object.keys(findings) as Obstructed['reason'][]
  return reasons.flatMap((reason) => {
    const groups = obstructed.filter((one) => one.reason === reason)
    const [first] = groups
    if (first === undefined) return []
    const named = listSome(groups.map(describe), { count: first.groups, between: '; ' })
    const { what, cure } = findings[reason]
    const isSerious = reason === 'misconfigured' || groups.some(({ sinceMs }) => sinceMs >= limits.obstructedMs.serious)
    const grade = isSerious ? serious : warning
    const said = `Transfers ${what}: ${named}`
    return [grade(reason, said.endsWith('?') ? said : `${said}.`, cure)]
  })
}

function describe({ accountId, gateway, client, count, isSubmitted, sinceMs, lastDetail }: Obstructed): string {
  const at = gateway === defaultGateway ? '' : ` at ${gateway}`
  const by = client === null ? '' : ` by ${client}`
  const said = lastDetail === null ? '' : `, ${lastDetail.replace(/^not sent: /, '').slice(0, 200)}`
  const what = isSubmitted ? 'submitted transfer' : 'transfer'
  const unread = isSubmitted ? ', whose status is not read,' : ''
  return `${plural(count, what)} of ${accountId}${at}${by}${unread} for ${formatDuration(sinceMs)}${said}`
}
