import { Link } from 'wouter'
import { type Answer, call } from '../api/client.ts'
import { useMay } from '../api/permissions.ts'
import { useRead } from '../api/queries.ts'
import { ActionButtons } from '../parts/action-buttons.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { Moment, toWords, writeAge, writeCount, writeSpan } from '../parts/format.tsx'
import { Page, Panel } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'
import { Badge } from '../parts/status.tsx'
import { describeStopBefore } from '../parts/stops.ts'
import { Charts } from './charts.tsx'
import { Gateways } from './gateways.tsx'

/** What is on its way, what waits, what is stuck and why. */
export function OverviewPage() {
  const may = useMay()
  if (!may('read'))
    return (
      <Page title="Overview">
        <Empty title="The overview is about all accounts">
          You may see some of them: go to your <Link href="/transfers">transfers</Link>.
        </Empty>
      </Page>
    )
  return (
    <Page title="Overview" lead="Read again every minute while this page is open.">
      <Backlog />
      <Sending />
      <div className="columns">
        <div>
          <Doctor />
          <Stuck />
        </div>
        <div>
          <Gateways />
        </div>
      </div>
      <Charts />
    </Page>
  )
}

const minute = { everyMs: 60_000 } as const

type BacklogAnswer = Answer<'GET /backlog'>

const tiles = [
  ['held', 'held', '/transfers?stage=held', 'warn'],
  ['queued', 'queued', '/transfers?stage=queued', ''],
  ['submitting', 'sending', '/transfers?stage=submitting', ''],
  ['awaitingFunds', 'awaiting funds', '/transfers?stage=awaiting_funds', 'warn'],
  ['submitted', 'at the service', '/transfers?stage=submitted', ''],
  ['blocked', 'blocked', '/transfers?stage=blocked', 'bad'],
  ['undelivered', 'events due', '/subscriptions', ''],
  ['deadLetters', 'dead letters', '/subscriptions', 'bad'],
] as const satisfies readonly (readonly [keyof BacklogAnswer, string, string, string])[]

function Backlog() {
  const backlog = useRead('GET /backlog', {}, minute)
  return (
    <Read of={backlog} what="Counting">
      {(counts) => (
        <section aria-label="What is on its way">
          <ul className="tiles">
            {tiles.map(([name, word, href, tone]) => (
              <li key={name}>
                <Link href={href} className={counts[name] > 0 ? tone : ''}>
                  <strong>{writeCount(counts[name])}</strong>
                  <span>{word}</span>
                </Link>
              </li>
            ))}
          </ul>
          <p className="muted workers">
            {writeCount(counts.settled)} settled ·{' '}
            {counts.workers.listening === 0
              ? 'no worker listens'
              : `${counts.workers.listening} ${counts.workers.listening === 1 ? 'worker listens' : 'workers listen'}, ${counts.workers.claiming} ${counts.workers.claiming === 1 ? 'claims' : 'claim'}`}
          </p>
        </section>
      )}
    </Read>
  )
}

function Sending() {
  const sending = useRead('GET /sending', {}, minute)
  const may = useMay()
  return (
    <Read of={sending} what="Reading whether anything is sent">
      {({ unfamiliar, fence, stops }) => {
        const whole = stops.find(({ scope }) => scope === 'all')
        const offers = !may('act')
          ? []
          : whole !== undefined
            ? [stopOffer('Start sending', 'end', 'Workers send again, at once.', whole.since)]
            : [
                stopOffer(
                  'Stop sending',
                  'add',
                  'No worker sends anything until somebody starts it. What has left is not called back.',
                ),
              ]
        if (stops.length === 0 && fence === null && unfamiliar === null)
          return (
            <div className="actions">
              <Badge tone="good">Nothing is stopped</Badge>
              <ActionButtons offers={offers} />
            </div>
          )
        return (
          <div className="banner bad stack" role="note">
            {unfamiliar === null ? null : <strong>{unfamiliar}</strong>}
            {fence === null ? null : (
              <strong>
                Fenced since <Moment at={fence.since} />: {fence.reason ?? 'a restore'}. A reconciliation lifts it.
              </strong>
            )}
            {stops.map(({ scope, name, since, reason, actor }) => (
              <p key={`${scope} ${name ?? ''}`}>
                <strong>{scope === 'all' ? 'Nothing is sent' : `Stopped: ${scope} ${name ?? ''}`}</strong>, since{' '}
                <Moment at={since} />
                {actor === null ? '' : ` by ${actor}`}
                {reason === null ? '' : `: ${reason}`}
              </p>
            ))}
            <div className="actions">
              <ActionButtons offers={offers} />
            </div>
          </div>
        )
      }}
    </Read>
  )
}

const stopOffer = (label: string, verb: 'add' | 'end', effect: string, since?: string) => ({
  ...{ label, title: label, verb: label, isDangerous: verb === 'add', effect: <p>{effect}</p> },
  async run(reason: string) {
    const body = { scope: 'all' as const, reason, ...(since === undefined ? {} : { since }) }
    const { changed, stop } = await call(`POST /stops/${verb}`, { body })
    return changed ? `${label}: done.` : describeStopBefore(stop)
  },
})

function Doctor() {
  const doctor = useRead('GET /doctor', {}, { everyMs: 600_000 })
  return (
    <Panel title="What the doctor says">
      <Read of={doctor} what="Examining">
        {({ findings }) =>
          findings.length === 0 ? (
            <p>
              <Badge tone="good">Healthy</Badge> <span className="muted">Nothing was found.</span>
            </p>
          ) : (
            <ul className="stack">
              {findings.map(({ code, severity, what, cure }) => (
                <li key={`${code} ${what}`} className="finding">
                  <Badge tone={severity === 'serious' ? 'bad' : 'warn'}>{severity}</Badge>
                  <div>
                    <p>
                      <strong>{what}</strong>
                    </p>
                    <p className="muted">{cure}</p>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Read>
    </Panel>
  )
}

function Stuck() {
  const stuck = useRead('GET /transfers/stuck', { query: { limit: 10 } }, minute)
  return (
    <Panel title="Stuck, the longest first" isFlush>
      <Read of={stuck} what="Reading what is stuck">
        {({ transfers }) =>
          transfers.length === 0 ? (
            <Empty title="Nothing is stuck">Every transfer waits for nothing but its turn.</Empty>
          ) : (
            <DataTable
              caption="Stuck transfers"
              rows={transfers}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: 'Waits for',
                  cell: ({ id, waitsFor, remedy }) => (
                    <span className="two-lines">
                      <Link href={`/transfers/${id}`} className="row-link">
                        {waitsFor}
                      </Link>
                      <span className="muted">{remedy}</span>
                    </span>
                  ),
                },
                { name: 'Stage', isWide: true, cell: ({ stage }) => toWords(stage) },
                { name: 'Account', isWide: true, cell: ({ accountId }) => accountId },
                {
                  name: 'For',
                  align: 'end',
                  cell: ({ waitingMs, since }) => <span title={writeAge(since)}>{writeSpan(waitingMs)}</span>,
                },
              ]}
            />
          )
        }
      </Read>
    </Panel>
  )
}
