import { useState } from 'react'
import { Link } from 'wouter'
import { type Answer, call, type Place } from '../api/client.ts'
import { useMay } from '../api/permissions.ts'
import { useRead } from '../api/queries.ts'
import { ActionButtons, type Offer } from '../parts/action-buttons.tsx'
import { ActionDialog } from '../parts/action-dialog.tsx'
import { TextField } from '../parts/fields.tsx'
import { capitalize, Moment, writeAge, writeCount } from '../parts/format.tsx'
import { Facts, Page, Panel } from '../parts/page.tsx'
import { Read } from '../parts/states.tsx'
import { describeStopBefore } from '../parts/stops.ts'

type Account = Answer<'GET /accounts/:accountId'>

const effects = {
  pause: 'Its transfers are not submitted until it is resumed.',
  resume: 'Its transfers are submitted again.',
  stop: 'Nothing is sent for it, in any worker, until it is started.',
  start: 'Its stop ends.',
  'funds-arrived': 'Its transfers that await funds are sent again.',
  'retry-credentials': 'Its refused credentials are probed now.',
} as const

type Verb = keyof typeof effects

/** For who names an account that has no transfer here: another one goes on. */
const doubtOf = (accountId: string, no = 'No'): string =>
  `${no} transfer of ${accountId} is known here: see whether its id is mistyped.`

/** Since when it is what an action ends, as it is shown. */
const sinceOf = (verb: Verb, { stopped, pause }: Account): string | null =>
  (verb === 'start' ? stopped?.since : verb === 'resume' ? pause?.since : null) ?? null

const offerOf = (verb: Verb, account: Account): Offer => {
  const { accountId, known } = account
  const since = sinceOf(verb, account)
  const label = capitalize(verb.replaceAll('-', ' '))
  return {
    ...{ label, title: `${label}: ${accountId}`, verb: label, isDangerous: verb === 'stop' || verb === 'pause' },
    effect: (
      <p>
        {effects[verb]} {known === false ? doubtOf(accountId) : ''}
      </p>
    ),
    async run(reason) {
      const place = `POST /accounts/:accountId/${verb}` as const satisfies Place
      const body = since === null ? { reason } : { reason, since }
      const { changed, count, stop, ...after } = await call(place, { params: { accountId }, body })
      const doubt = after.known === false ? ` But ${doubtOf(accountId, 'no')}` : ''
      if (!changed) return describeStopBefore(stop) + doubt
      return (count === null ? `${label}: done.` : `${label}: ${writeCount(count)} transfers.`) + doubt
    },
  }
}

const fitting = ({ paused, stopped, credentialsRefused, backlog }: Account): readonly Verb[] => [
  paused ? 'resume' : 'pause',
  stopped === null ? 'stop' : 'start',
  ...(backlog.some(({ awaitingFunds }) => awaitingFunds > 0) ? (['funds-arrived'] as const) : []),
  ...(credentialsRefused ? (['retry-credentials'] as const) : []),
]

/** One account: what keeps it from sending, its limits, and what waits. */
export function AccountPage({ id }: { readonly id: string }) {
  const may = useMay()
  const account = useRead('GET /accounts/:accountId', { params: { accountId: id } }, { everyMs: 30_000 })
  const one = account.data
  const offers = one === undefined || !may('act', id) ? [] : fitting(one).map((verb) => offerOf(verb, one))
  return (
    <Page
      title={id}
      lead={<Link href={`/transfers?accountId=${encodeURIComponent(id)}`}>Its transfers</Link>}
      actions={offers.length === 0 ? undefined : <ActionButtons offers={offers} />}
    >
      <Read of={account} what="Reading the account">
        {(found) => (
          <>
            <States of={found} />
            <div className="columns">
              <Panel title="What waits">
                {found.backlog.length === 0 ? <p className="muted">Everything is settled.</p> : null}
                {found.backlog.map((row) => (
                  <Facts
                    key={row.gateway}
                    of={[
                      ['Gateway', row.gateway],
                      ['Held', writeCount(row.held)],
                      ['Queued', writeCount(row.queued)],
                      ['Sending', writeCount(row.submitting)],
                      ['Awaiting funds', writeCount(row.awaitingFunds)],
                      ['At the service', writeCount(row.submitted)],
                      ['Blocked', writeCount(row.blocked)],
                      ['Oldest unsent', row.oldestUnsubmittedAt === null ? 'none' : writeAge(row.oldestUnsubmittedAt)],
                    ]}
                  />
                ))}
              </Panel>
              <Limits of={found} mayChange={may('configure', id)} />
            </div>
          </>
        )}
      </Read>
    </Page>
  )
}

function States({ of: account }: { readonly of: Account }) {
  const { accountId, pause, stopped, credentialsRefused, throttledUntil, known } = account
  if (known !== false && pause === null && stopped === null && !credentialsRefused && throttledUntil === null)
    return null
  return (
    <div className="banner stack" role="note">
      {known === false ? <strong>{doubtOf(accountId)}</strong> : null}
      {pause === null ? null : (
        <strong>
          Paused
          {pause.since === null ? (
            ''
          ) : (
            <>
              {' '}
              since <Moment at={pause.since} />
            </>
          )}
          {pause.actor === null ? '' : ` by ${pause.actor}`}
          {pause.reason === null ? '' : `: ${pause.reason}`}. Nothing is submitted for it.{' '}
          <Link href="/audit?command=accounts.pause" className="in-text">
            Who paused accounts, and why
          </Link>
        </strong>
      )}
      {stopped === null ? null : (
        <strong>
          Stopped since <Moment at={stopped.since} />
          {stopped.actor === null ? '' : ` by ${stopped.actor}`}
          {stopped.reason === null ? '.' : `: ${stopped.reason}`}
        </strong>
      )}
      {credentialsRefused ? <strong>The service refuses its credentials.</strong> : null}
      {throttledUntil === null ? null : (
        <strong>
          Throttled until <Moment at={throttledUntil} />.
        </strong>
      )}
    </div>
  )
}

const names = ['ratePerSecond', 'concurrency', 'weight'] as const
const labels = { ratePerSecond: 'Submissions a second', concurrency: 'Submissions at once', weight: 'Weight' } as const

const samples = { ratePerSecond: '2.5', concurrency: '5', weight: '2' } as const

/** Digits, with a point: a comma parts thousands for some and fractions for others. */
const isNumber = (text: string): boolean => /^(\d{1,9}(\.\d{1,9})?)?$/.test(text)

type Fields = Readonly<Record<string, string>>

function Limits({ of: account, mayChange }: { readonly of: Account; readonly mayChange: boolean }) {
  const [fields, setFields] = useState<Fields>()
  const [seen, see] = useState<Fields>({})
  const write = (value: number | null) => (value === null ? 'no limit' : String(value))
  const values = fields ?? {}
  // Only those: others may have changed the rest meanwhile.
  const changed = names.filter((name) => values[name] !== seen[name])
  const wrong = changed.filter((name) => !isNumber(values[name] ?? ''))
  const isReady = changed.length > 0 && wrong.length === 0
  return (
    <Panel
      title="Limits"
      actions={
        mayChange ? (
          <button
            type="button"
            className="button"
            onClick={() => {
              const now = names.map((name) => [name, account[name] === null ? '' : String(account[name])] as const)
              setFields(Object.fromEntries(now))
              see(Object.fromEntries(now))
            }}
          >
            Change
          </button>
        ) : undefined
      }
    >
      <Facts of={names.map((name) => [labels[name], write(account[name])] as const)} />
      {mayChange ? null : <p className="muted">You may not change them.</p>}
      <ActionDialog
        onClose={() => setFields(undefined)}
        action={
          fields === undefined
            ? undefined
            : {
                ...{ title: `Limits of ${account.accountId}`, verb: 'Change', isReady },
                effect: (
                  <p>
                    What you change holds from the next claim on, in every worker; the rest stays as it is. An empty
                    field is no limit.
                  </p>
                ),
                async run(reason) {
                  const limits = Object.fromEntries(
                    changed.map((name) => [name, values[name] === '' ? null : Number(values[name])]),
                  )
                  await call('PATCH /accounts/:accountId/limits', {
                    params: { accountId: account.accountId },
                    body: { reason, ...limits },
                  })
                  return 'The limits are changed.'
                },
              }
        }
      >
        {names.map((name) => (
          <TextField
            key={name}
            label={labels[name]}
            errors={wrong.includes(name) ? [`Write a number such as ${samples[name]}`] : []}
            value={values[name] ?? ''}
            onChange={(text) => setFields({ ...values, [name]: text.trim() })}
          />
        ))}
      </ActionDialog>
    </Panel>
  )
}
