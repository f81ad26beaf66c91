import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answer, call, Refusal } from '../api/client.ts'
import { ActionDialog } from '../parts/action-dialog.tsx'
import { Money, toWords, writeCount } from '../parts/format.tsx'
import { SumList } from '../transfers/totals.tsx'
import type { Decision, Waiting } from './approvals-page.tsx'
import { addDecimals } from './sum.ts'
import { WaitingFacts } from './waiting-facts.tsx'

type Now = Answer<'GET /transfers/:transferId'>

/** What is otherwise than it was when the queue was read. */
function findChanges({ transfer, held }: Waiting, now: Now): readonly string[] {
  const changes: string[] = []
  const { stage, status, amount, updatedAt } = now.transfer
  if (stage !== transfer.stage) changes.push(`it is ${toWords(stage)} and ${status} now`)
  if (amount.value !== transfer.amount.value) changes.push(`the amount is ${amount.value} ${amount.currency}`)
  const known = new Set(held.approvals.map(({ actor, at }) => `${actor} ${at}`))
  for (const { actor, at } of now.held.approvals)
    if (!known.has(`${actor} ${at}`)) changes.push(`${actor} has approved it`)
  const holds = new Set(held.holds.map(({ name, policy }) => `${name} ${policy ?? ''}`))
  for (const { name, policy, why } of now.held.holds)
    if (!holds.has(`${name} ${policy ?? ''}`)) changes.push(`it is held by ${policy ?? name}, too: ${why}`)
  if (changes.length === 0 && updatedAt !== transfer.updatedAt) changes.push('it was written to')
  return changes
}

/** What a decision comes to, by currency. */
const sumOf = (about: readonly Waiting[]) =>
  [...Map.groupBy(about, ({ transfer }) => transfer.amount.currency)].map(([currency, ones]) => ({
    ...{ currency, count: ones.length, status: ones.length === 1 ? 'transfer' : 'transfers' },
    amount: addDecimals(ones.map(({ transfer }) => transfer.amount.value)),
  }))

/** What became of each entry of a decision: `done`, `held` where that lets it not go, or why it was refused. */
type Outcomes = ReadonlyMap<string, string>

/** Shows each transfer as it is now, and decides about them one after another, so that a refusal of one does not stop the others. */
export function DecisionDialog({
  decision,
  onClose,
}: {
  readonly decision: Decision | undefined
  readonly onClose: () => void
}) {
  const about = decision?.about ?? []
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map())
  const readings = useQueries({
    queries: about.map(({ transfer }) => ({
      queryKey: ['decision', transfer.id, transfer.updatedAt],
      queryFn: () => call('GET /transfers/:transferId', { params: { transferId: transfer.id } }),
      gcTime: 0,
      staleTime: 0,
    })),
  })
  const verb = decision?.verb ?? 'approve'
  const word = verb === 'approve' ? 'Approve' : 'Reject'
  const isRead = readings.every(({ isFetching, data }) => !isFetching && data !== undefined)
  const unread = readings.filter(({ isFetching, data }) => !isFetching && data === undefined)
  const run = async (reason: string, signal: AbortSignal) => {
    const results = new Map(outcomes)
    let refused: unknown
    for (const { transfer } of about) {
      if (isDone(results.get(transfer.id))) continue
      if (signal.aborted) throw new Error('Stopped. What is not done here was not decided.')
      try {
        const { stage } = (await decideOne(verb, transfer.id, reason)).transfer
        results.set(transfer.id, stage === 'held' ? 'held' : 'done')
      } catch (error) {
        results.set(transfer.id, error instanceof Refusal ? error.problem.detail : 'There was no answer.')
        refused = error
      }
      setOutcomes(new Map(results))
    }
    if (refused !== undefined) throw refused
    setOutcomes(new Map())
    return describeDone(verb, results)
  }
  return (
    <ActionDialog
      onClose={() => {
        setOutcomes(new Map())
        onClose()
      }}
      action={
        decision === undefined
          ? undefined
          : {
              title: `${word} ${about.length === 1 ? 'this transfer' : `${writeCount(about.length)} transfers`}`,
              effect:
                verb === 'approve' ? (
                  <p>
                    Your name stands for {about.length === 1 ? 'it' : 'each of them'}. With its last approval a transfer
                    is sent.
                  </p>
                ) : (
                  <p>{about.length === 1 ? 'It ends' : 'Each ends'} as canceled, with the reason rejected.</p>
                ),
              verb: about.length === 1 ? word : `${word} ${writeCount(about.length)}`,
              isDangerous: verb === 'reject',
              isReasonOptional: verb === 'approve',
              isReady: isRead,
              isStoppable: about.length > 1,
              run,
            }
      }
    >
      {about.length < 2 ? null : (
        <div className="preview">
          <SumList totals={sumOf(about)} />
        </div>
      )}
      <ul className="decisions">
        {about.map((one, at) => (
          <Entry
            key={one.transfer.id}
            of={one}
            now={readings[at]?.data}
            error={readings[at]?.isFetching === true ? null : (readings[at]?.error ?? null)}
            outcome={outcomes.get(one.transfer.id)}
          />
        ))}
      </ul>
      {unread.length === 0 ? null : (
        <div className="actions">
          <button type="button" className="button" onClick={() => unread.forEach(({ refetch }) => void refetch())}>
            Read again
          </button>
        </div>
      )}
    </ActionDialog>
  )
}

function decideOne(verb: Decision['verb'], transferId: string, reason: string) {
  const params = { transferId }
  if (verb === 'reject') return call('POST /transfers/:transferId/reject', { params, body: { reason } })
  return call('POST /transfers/:transferId/approve', { params, body: reason === '' ? {} : { note: reason } })
}

const isDone = (outcome: string | undefined): boolean => outcome === 'done' || outcome === 'held'

/** Says what has become of them: an approval alone lets nothing go where more is missing. */
function describeDone(verb: Decision['verb'], outcomes: Outcomes): string {
  const entries = 'The audit has an entry for each.'
  if (verb === 'reject') return `Rejected: ${writeCount(outcomes.size)}. ${entries}`
  const held = [...outcomes.values()].filter((outcome) => outcome === 'held').length
  const left = held === 0 ? '' : ` Still held, since something is missing: ${writeCount(held)}.`
  return `Approved: ${writeCount(outcomes.size)}.${left} ${entries}`
}

function Entry({
  of: one,
  now,
  error,
  outcome,
}: {
  readonly of: Waiting
  readonly now: Now | undefined
  /** Why it could not be read. */
  readonly error: Error | null
  readonly outcome: string | undefined
}) {
  const changes = now === undefined || outcome !== undefined ? [] : findChanges(one, now)
  const { accountId, destination } = one.transfer
  const { counterparty, addressId } = destination
  return (
    <li>
      <span>
        <strong>
          <Money {...one.transfer.amount} />
        </strong>{' '}
        to {counterparty?.name ?? addressId ?? 'unknown'} <span className="muted">of {accountId}</span>{' '}
        <WaitingFacts of={one.transfer} />
      </span>
      {now === undefined && error !== null ? (
        <span className="changed" role="alert">
          It could not be read again: {error.message}
        </span>
      ) : now === undefined ? (
        <span className="muted" role="status">
          Reading it again …
        </span>
      ) : isDone(outcome) ? (
        <span className="muted">{outcome === 'held' ? 'Done; it is still held.' : 'Done.'}</span>
      ) : outcome !== undefined ? (
        <span className="changed">{outcome}</span>
      ) : changes.length === 0 ? (
        <span className="muted">As you see it in the queue.</span>
      ) : (
        <span className="changed">Changed since you opened the queue: {changes.join('; ')}.</span>
      )}
    </li>
  )
}
