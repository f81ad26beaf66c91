import { useContext, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { type Answer, writeQuery } from '../api/client.ts'
import { hasAny, PersonContext, useMay } from '../api/permissions.ts'
import { useRead } from '../api/queries.ts'
import { Moment, Money, writeAge, writeCount } from '../parts/format.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'
import { Badge, Payee } from '../parts/status.tsx'
import { DecisionDialog } from './decision-dialog.tsx'
import { writeMissing } from './missing.ts'
import { WaitingFacts } from './waiting-facts.tsx'

/** One entry of the queue. */
export type Waiting = Answer<'GET /approvals'>['approvals'][number]

/** A decision about some entries, as they were seen. */
export interface Decision {
  readonly verb: 'approve' | 'reject'
  readonly about: readonly Waiting[]
}

const refusalWords: Readonly<Record<NonNullable<Waiting['refusal']>, string>> = {
  creator: 'You created it',
  role: 'Another role approves it',
  done: 'You approved it',
}

const words: Readonly<Record<string, string>> = { accountId: 'the account', batchId: 'the batch' }

/** The queue of who is logged in: what waits for approval, and what they may decide. */
export function ApprovalsPage() {
  const person = useContext(PersonContext)
  const may = useMay()
  const [search] = useSearchParams()
  const cursor = search.get('cursor') ?? undefined
  const filter = { accountId: search.get('accountId') ?? undefined, batchId: search.get('batchId') ?? undefined }
  const narrowed = Object.entries(filter).filter(([, value]) => value !== undefined)
  const queue = useRead('GET /approvals', { query: { cursor, ...filter } }, { keep: true, everyMs: 60_000 })
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set())
  const [decision, decide] = useState<Decision>()
  const entries = queue.data?.approvals ?? []
  const selected = entries.filter(({ transfer }) => chosen.has(transfer.id))
  // Those that the person may approve.
  const open = entries.flatMap(({ transfer, refusal }) =>
    refusal === null && may('approve', transfer.accountId) ? [transfer.id] : [],
  )
  const toggle = (id: string) =>
    choose((before) => (before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id])))
  return (
    <Page
      title="Approvals"
      lead={
        hasAny(person, 'approve')
          ? `What waits for approval, for you as ${person.actor}${person.roles.length === 0 ? '' : ` (${person.roles.join(', ')})`}.`
          : 'What waits for approval. You may see it, and not approve.'
      }
      actions={
        selected.length === 0 ? undefined : (
          <>
            <span className="muted" role="status">
              {writeCount(selected.length)} chosen
            </span>
            <button
              type="button"
              className="button primary"
              onClick={() => decide({ verb: 'approve', about: selected })}
            >
              Approve {writeCount(selected.length)}
            </button>
            <button type="button" className="button" onClick={() => decide({ verb: 'reject', about: selected })}>
              Reject {writeCount(selected.length)}
            </button>
          </>
        )
      }
    >
      <Read of={queue} what="Reading the queue">
        {({ approvals, nextCursor }) => (
          <>
            {narrowed.length === 0 ? null : (
              <p>
                Only of {narrowed.map(([name, value]) => `${words[name]} ${value}`).join(', ')}.{' '}
                <Link href="/approvals">All that waits</Link>
              </p>
            )}
            {approvals.length === 0 ? (
              <Empty title="Nothing waits for approval">
                What a <Link href="/policies">policy</Link> holds for approval appears here.
              </Empty>
            ) : (
              <>
                {open.length < 2 ? null : (
                  <label className="check">
                    <input
                      type="checkbox"
                      checked={open.every((id) => chosen.has(id))}
                      onChange={({ target }) => choose(new Set(target.checked ? open : []))}
                    />
                    Choose all {writeCount(open.length)} on this page that you may approve
                  </label>
                )}
                <ul className="queue">
                  {approvals.map((one) => (
                    <Entry
                      key={one.transfer.id}
                      of={one}
                      isChosen={chosen.has(one.transfer.id)}
                      onToggle={() => toggle(one.transfer.id)}
                      onDecide={(verb) => decide({ verb, about: [one] })}
                    />
                  ))}
                </ul>
              </>
            )}
            {cursor === undefined && nextCursor === null ? null : (
              <nav aria-label="Pages of the queue" className="pager">
                {cursor === undefined ? <span /> : <Link href={`/approvals${writeQuery(filter)}`}>← Newest</Link>}
                {nextCursor === null ? null : (
                  <Link href={`/approvals${writeQuery({ ...filter, cursor: nextCursor })}`}>Older →</Link>
                )}
              </nav>
            )}
          </>
        )}
      </Read>
      <DecisionDialog
        decision={decision}
        onClose={() => {
          decide(undefined)
          choose(new Set())
        }}
      />
    </Page>
  )
}

function Entry({
  of: { transfer, held, refusal },
  isChosen,
  onToggle,
  onDecide,
}: {
  readonly of: Waiting
  readonly isChosen: boolean
  readonly onToggle: () => void
  readonly onDecide: (verb: Decision['verb']) => void
}) {
  const may = useMay()
  const mayApprove = may('approve', transfer.accountId)
  const name = `${transfer.amount.value} ${transfer.amount.currency} of ${transfer.accountId}`
  const missing = writeMissing(held.missing)
  return (
    <li className="waiting">
      <input
        type="checkbox"
        aria-label={`Choose ${name}`}
        checked={isChosen}
        disabled={!mayApprove}
        onChange={onToggle}
      />
      <div className="waiting-what">
        <Link href={`/transfers/${transfer.id}`} className="row-link">
          <Money {...transfer.amount} />
        </Link>
        <Payee {...transfer} />
      </div>
      <div className="waiting-why">
        <span>{held.holds.map(({ policy, name: hold }) => policy ?? hold).join(', ')}</span>
        <span className="muted">
          {transfer.accountId}
          {held.createdBy === null ? '' : `, asked for by ${held.createdBy}`} · {writeAge(transfer.createdAt)}
        </span>
        <span>
          <WaitingFacts of={transfer} />
        </span>
        <span className="muted">
          {held.approvals.map(({ actor, at }) => (
            <span key={`${actor} ${at}`}>
              ✓ {actor} <Moment at={at} brief />{' '}
            </span>
          ))}
          {missing === '' ? '' : `missing: ${missing}`}
        </span>
      </div>
      <div className="actions">
        {refusal === null ? null : <Badge tone="idle">{refusalWords[refusal]}</Badge>}
        {mayApprove ? (
          <>
            <button
              type="button"
              className="button primary"
              disabled={refusal !== null}
              aria-label={`Approve ${name}`}
              onClick={() => onDecide('approve')}
            >
              Approve
            </button>
            <button type="button" className="button" aria-label={`Reject ${name}`} onClick={() => onDecide('reject')}>
              Reject
            </button>
          </>
        ) : null}
      </div>
    </li>
  )
}
