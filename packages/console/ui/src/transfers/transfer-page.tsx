import { Link } from 'wouter'
import { useMay } from '../api/permissions.ts'
import { useRead } from '../api/queries.ts'
import { writeMissing } from '../approvals/missing.ts'
import { groupDigits, Moment, Money, toWords, writeAge, writeMoment } from '../parts/format.tsx'
import { Facts, Id, Page, Panel } from '../parts/page.tsx'
import { Read } from '../parts/states.tsx'
import { Badge, Payee, TransferState } from '../parts/status.tsx'
import { HeldReturns } from './held-returns.tsx'
import { type Entry, type Timeline, writeTimeline } from './timeline.ts'
import { TransferActions } from './transfer-actions.tsx'

/** One transfer: how it stands, what it waits for, all that happened, and what can be done. */
export function TransferPage({ id }: { readonly id: string }) {
  const timeline = useRead('GET /transfers/:transferId', { params: { transferId: id } }, { everyMs: 20_000 })
  const one = timeline.data
  const title =
    one === undefined ? 'Transfer' : `${groupDigits(one.transfer.amount.value)} ${one.transfer.amount.currency}`
  if (one === undefined)
    return (
      <Page title={title}>
        <Read of={timeline} what="Reading the transfer">
          {() => null}
        </Read>
      </Page>
    )
  return (
    <Page title={title} lead={<Lead {...one} />} actions={<TransferActions of={one} />}>
      <Read of={timeline}>{(found) => <Found of={found} />}</Read>
    </Page>
  )
}

const Lead = ({ transfer }: Timeline) => (
  <span className="lead-line">
    <TransferState {...transfer} />
    {transfer.destination.counterparty === null ? null : <span>to {transfer.destination.counterparty.name}</span>}
    <Id value={transfer.id} />
  </span>
)

function Found({ of: one }: { readonly of: Timeline }) {
  const { waitsFor, remedy } = one
  return (
    <>
      {waitsFor === null ? null : (
        <div className="banner" role="note">
          <strong>It waits for {waitsFor}</strong>
          {remedy === null ? null : <p>{remedy}</p>}
        </div>
      )}
      <div className="columns">
        <div>
          <HeldReturns of={one} />
          {one.held.holds.length === 0 ? null : <Holds of={one} />}
          <Panel title="Timeline">
            <ol className="timeline">
              {writeTimeline(one).map((entry) => (
                <Line key={entry.key} entry={entry} />
              ))}
            </ol>
          </Panel>
        </div>
        <div>
          <Verdict of={one} />
          <Details of={one} />
          <Deliveries of={one} />
        </div>
      </div>
    </>
  )
}

const kinds: Readonly<Record<Entry['kind'], string>> = {
  ...{
    event: 'event',
    attempt: 'request',
    approval: 'approval',
    hold: 'hold',
    person: 'who did what',
    return: 'return',
    screening: 'screening',
  },
}

function Line({ entry: { at, tone, kind, title, facts } }: { readonly entry: Entry }) {
  return (
    <li className={`entry ${tone}`}>
      <span className="dot" aria-hidden="true" />
      <div className="entry-head">
        <strong>{title}</strong>
        <span className="muted">{kinds[kind]}</span>
        <Moment at={at} />
      </div>
      {facts.length === 0 ? null : (
        <dl className="inline">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  )
}

type ScreeningState = NonNullable<Timeline['held']['holds'][number]['screening']>

function describeScreening({ isOnHold, case: named, failures, failingSince, lastError }: ScreeningState): string {
  if (isOnHold) return named === undefined ? 'waits for an answer' : `case ${named}`
  return failures === 0 ? 'to be screened' : `no answer since ${failingSince}: ${lastError}`
}

function Holds({ of: { held, transfer } }: { readonly of: Timeline }) {
  const may = useMay()
  return (
    <Panel title="What holds it">
      <ul className="plain">
        {held.holds.map(({ name, policy, policyVersion, why, since, limit, screening }) => (
          <li key={`${name} ${policy ?? ''}`}>
            <Badge tone="warn">{name}</Badge> {why} {limit === undefined ? '' : `${writeLimit(limit)} `}
            <span className="muted">
              {policy === undefined ? (
                ''
              ) : policyVersion === undefined ? (
                `${policy} · `
              ) : may('read') ? (
                <>
                  <Link href={`/policies?version=${policyVersion}`} className="in-text">
                    {policy}, version {policyVersion}
                  </Link>{' '}
                  ·{' '}
                </>
              ) : (
                `${policy}, version ${policyVersion} · `
              )}
              {writeAge(since)}
              {screening === undefined ? '' : ` · ${describeScreening(screening)}`}
            </span>
          </li>
        ))}
      </ul>
      {held.approvals.length === 0 ? null : (
        <ul className="plain">
          {held.approvals.map(({ actor, roles, note, at }) => (
            <li key={`${actor} ${at}`}>
              <Badge tone="good">approved</Badge> {actor}{' '}
              <span className="muted">
                {roles.join(', ')} {note ?? ''} <Moment at={at} brief />
              </span>
            </li>
          ))}
        </ul>
      )}
      {held.missing.length === 0 ? null : (
        <p>
          Missing: {writeMissing(held.missing)}.{' '}
          {held.createdBy === null ? '' : `Not ${held.createdBy}, who created it.`}
          {held.earlierCreators === undefined || held.earlierCreators.length === 0
            ? ''
            : ` Not ${held.earlierCreators.join(' or ')}, who created one in whose place it is.`}
        </p>
      )}
      {may('approve', transfer.accountId) || may('act', transfer.accountId) ? null : (
        <p className="muted">You may see this account, and not act on it.</p>
      )}
    </Panel>
  )
}

type Limit = NonNullable<Timeline['held']['holds'][number]['limit']>

/** How much of a limit is used, and when what it holds goes. */
function writeLimit({ sum, fitsAt }: Limit): string {
  const used =
    sum === undefined ? '' : `${groupDigits(sum.used)} of ${groupDigits(sum.most)} ${sum.currency} are used. `
  return `${used}${fitsAt === undefined ? 'It waits for somebody who releases it.' : `It fits from ${writeMoment(fitsAt)} on.`}`
}

const verdicts = {
  one_effect: ['good', 'It had one effect', 'The service has exactly one transfer for it.'],
  no_effect: ['idle', 'It had no effect', 'No money has moved, and none will by this transfer.'],
  undecided: ['busy', 'It is under way', 'What it will come to is not decided yet.'],
  unknown: ['bad', 'Nobody knows yet', 'A request may have had an effect. A person has to ask the service.'],
  contradiction: ['bad', 'The evidence contradicts itself', 'Stop its account, and compare with the service.'],
} as const

function Verdict({ of: { transfer } }: { readonly of: Timeline }) {
  const proof = useRead('GET /transfers/:transferId/proof', { params: { transferId: transfer.id } })
  return (
    <Panel title="The verdict">
      <Read of={proof} what="Weighing the evidence">
        {({ conclusion, because, checks }) => {
          const [tone, title, text] = verdicts[conclusion]
          const held = checks.filter(({ holds }) => holds).length
          return (
            <>
              <p>
                <Badge tone={tone}>{title}</Badge>
              </p>
              <p>{text}</p>
              {because.length === 0 ? null : (
                <ul className="because">
                  {because.map((one) => (
                    <li key={one}>{one}</li>
                  ))}
                </ul>
              )}
              <details>
                <summary>
                  {held} of {checks.length} checks hold
                </summary>
                <ul className="checks">
                  {checks.map(({ check, holds }) => (
                    <li key={check} className={holds ? '' : 'broken'}>
                      <span aria-hidden="true">{holds ? '✓' : '✗'}</span>
                      <span className="visually-hidden">{holds ? 'holds' : 'does not hold'}: </span> {toWords(check)}
                    </li>
                  ))}
                </ul>
              </details>
            </>
          )
        }}
      </Read>
    </Panel>
  )
}

function Details({
  of: { transfer, client, submissionKey, nextAttemptAt, nextPollAt, sameRemoteId },
}: {
  readonly of: Timeline
}) {
  const { source, destination, metadata, failure, batchId, resubmissionOf, resubmittedAs, paidAmount } = transfer
  const link = (id: string) => <Link href={`/transfers/${id}`}>{id}</Link>
  return (
    <Panel title="Details">
      <Facts
        of={[
          ['Amount', <Money key="amount" {...transfer.amount} />],
          ...(paidAmount === null ? [] : [['Paid', <Money key="paid" {...paidAmount} />] as const]),
          [
            'Account',
            <Link key="account" href={`/accounts/${encodeURIComponent(transfer.accountId)}`}>
              {transfer.accountId}
            </Link>,
          ],
          ['Paid to', <Payee key="payee" destination={destination} />],
          ['From', `${source.valueType} on ${toWords(source.transferType)}`],
          ['To', `${destination.valueType} by ${toWords(destination.transferType)}`],
          ['Gateway', transfer.gateway],
          ['Key', <Id key="key" value={transfer.idempotencyKey} />],
          ...(transfer.remoteId === null
            ? []
            : [['Id at the service', <Id key="remote" value={transfer.remoteId} />] as const]),
          ...(submissionKey === null ? [] : [['Key as sent', <Id key="sent" value={submissionKey} />] as const]),
          ...(client === null ? [] : [['Client', client] as const]),
          ...(batchId === null
            ? []
            : [
                [
                  'Batch',
                  <Link key="batch" href={`/batches/${batchId}`}>
                    {batchId}
                  </Link>,
                ] as const,
              ]),
          ...(resubmissionOf === null ? [] : [['Again for', link(resubmissionOf)] as const]),
          ...(resubmittedAs === null ? [] : [['Resubmitted as', link(resubmittedAs)] as const]),
          ...(sameRemoteId.length === 0 ? [] : [['Same id as', sameRemoteId.join(', ')] as const]),
          ...(failure === null ? [] : [['Failure', `${toWords(failure.code)}: ${failure.detail}`] as const]),
          ...(transfer.notBefore === null
            ? []
            : [['Not before', <Moment key="nb" at={transfer.notBefore} />] as const]),
          ...(transfer.expiresAt === null ? [] : [['Expires', <Moment key="ex" at={transfer.expiresAt} />] as const]),
          ...(nextAttemptAt === null ? [] : [['Next attempt', <Moment key="na" at={nextAttemptAt} />] as const]),
          ...(nextPollAt === null ? [] : [['Next poll', <Moment key="np" at={nextPollAt} />] as const]),
          ...(transfer.note === null ? [] : [['Note', transfer.note] as const]),
          ...Object.entries(metadata ?? {}).map(([name, value]) => [name, value] as const),
          ['Created', <Moment key="created" at={transfer.createdAt} />],
          ['Changed', <Moment key="updated" at={transfer.updatedAt} />],
        ]}
      />
    </Panel>
  )
}

function Deliveries({ of: { deliveries, subscriptions } }: { readonly of: Timeline }) {
  if (subscriptions.length === 0 && deliveries.length === 0) return null
  return (
    <Panel title="Deliveries">
      {deliveries.length === 0 ? (
        <p className="muted">Every handler has its events: {subscriptions.join(', ')}.</p>
      ) : null}
      <ul className="plain">
        {deliveries.map(({ subscription, sequence, dueAt, failures, dead, lastError }) => (
          <li key={`${subscription} ${sequence}`}>
            <Badge tone={dead ? 'bad' : failures > 0 ? 'warn' : 'busy'}>{dead ? 'dead letter' : 'due'}</Badge>{' '}
            {subscription}{' '}
            <span className="muted">
              event {sequence}, {failures} failures, <Moment at={dueAt} brief /> {lastError ?? ''}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
