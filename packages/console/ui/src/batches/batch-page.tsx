import { useState } from 'react'
import { Link } from 'wouter'
import { type Answer, call, type Place, writeQuery } from '../api/client.ts'
import { useMay } from '../api/permissions.ts'
import { useRead } from '../api/queries.ts'
import { ActionButtons, type Offer } from '../parts/action-buttons.tsx'
import { type Action, ActionDialog } from '../parts/action-dialog.tsx'
import { capitalize, Moment, Money, toWords, writeCount } from '../parts/format.tsx'
import { Facts, Id, Page, Panel } from '../parts/page.tsx'
import { Read } from '../parts/states.tsx'
import { type Batch, BatchState } from './batches-page.tsx'

const effects = {
  close: 'It takes no further transfers.',
  pause: 'Its transfers are not submitted until it is resumed. What has left is not called back.',
  resume: 'Its transfers are submitted again.',
  cancel: 'It is closed, and its transfers whose money cannot have moved are canceled.',
} as const

const offerOf = (verb: keyof typeof effects, batchId: string): Offer => ({
  ...{ label: capitalize(verb), title: `${capitalize(verb)} this batch`, verb: capitalize(verb) },
  isDangerous: verb === 'cancel',
  effect: <p>{effects[verb]}</p>,
  async run(reason) {
    const place = `POST /batches/:batchId/${verb}` as const satisfies Place
    const { changed, result } = await call(place, { params: { batchId }, body: { reason } })
    if (!changed) return 'It was so before; nothing was changed.'
    const counts = Object.entries(result).map(([name, count]) => `${writeCount(count)} ${toWords(name)}`)
    return counts.length === 0 ? `${capitalize(verb)}: done.` : `${capitalize(verb)}: ${counts.join(', ')}.`
  },
})

function fitting({ state, paused }: Batch): readonly (keyof typeof effects)[] {
  if (state === 'completed') return []
  return [
    ...(state === 'open' ? (['close'] as const) : []),
    paused ? ('resume' as const) : ('pause' as const),
    'cancel',
  ]
}

/** One batch: its counts, what of it waits for approval, and what can be done. */
export function BatchPage({ id }: { readonly id: string }) {
  const may = useMay()
  const batch = useRead('GET /batches/:batchId', { params: { batchId: id } }, { everyMs: 20_000 })
  const one = batch.data
  const offers = one === undefined || !may('act', one.accountId) ? [] : fitting(one).map((verb) => offerOf(verb, id))
  return (
    <Page
      title={one?.key ?? 'Batch'}
      lead={
        one === undefined ? undefined : (
          <span className="lead-line">
            <BatchState {...one} />
            <Id value={one.id} />
          </span>
        )
      }
      actions={offers.length === 0 ? undefined : <ActionButtons offers={offers} />}
    >
      <Read of={batch} what="Reading the batch">
        {(found) => (
          <div className="columns">
            <div>
              <Panel title="Its transfers">
                <Counts of={found} />
                <p>
                  <Link href={`/transfers?batchId=${found.id}`}>All its transfers</Link>
                </p>
              </Panel>
              <Review of={found} />
            </div>
            <Panel title="Details">
              <Facts
                of={[
                  ['Account', found.accountId ?? 'any'],
                  ['Created', <Moment key="created" at={found.createdAt} />],
                  ['Closed', <Moment key="closed" at={found.closedAt} />],
                  ['Completed', <Moment key="completed" at={found.completedAt} />],
                  ...Object.entries(found.metadata ?? {}),
                ]}
              />
            </Panel>
          </div>
        )}
      </Read>
    </Page>
  )
}

const Counts = ({ of: { counts } }: { readonly of: Batch }) => (
  <Facts of={Object.entries(counts).map(([name, count]) => [capitalize(name), writeCount(count)] as const)} />
)

type Seen = Answer<'GET /batches/:batchId/review'>

function Review({ of: { id, accountId } }: { readonly of: Batch }) {
  const may = useMay()
  const review = useRead('GET /batches/:batchId/review', { params: { batchId: id } })
  // What the person approves: the page goes on reading while the dialog is open.
  const [seen, see] = useState<Seen>()
  return (
    <Panel title="Waits for approval">
      <Read of={review} what="Reading what waits for approval">
        {(now) =>
          now.transfers === 0 ? (
            <p className="muted">Nothing of this batch waits for approval.</p>
          ) : (
            <>
              <Sums of={now} />
              <p>
                <Link href={`/approvals${writeQuery({ batchId: id })}`}>Decide line by line</Link>
              </p>
              {may('approve', accountId) ? (
                <div className="actions">
                  <button type="button" className="button" onClick={() => see(now)}>
                    Approve the batch
                  </button>
                </div>
              ) : (
                <p className="muted">You may not approve it.</p>
              )}
            </>
          )
        }
      </Read>
      <ActionDialog action={seen === undefined ? undefined : approvalOf(id, seen)} onClose={() => see(undefined)} />
    </Panel>
  )
}

const Sums = ({ of: { transfers, totals } }: { readonly of: Seen }) => (
  <p>
    <strong>{writeCount(transfers)}</strong> transfers:{' '}
    {Object.entries(totals).map(([currency, value]) => (
      <Money key={currency} value={value} currency={currency} />
    ))}
  </p>
)

const approvalOf = (batchId: string, seen: Seen): Action => ({
  ...{ title: 'Approve all of this batch', verb: `Approve ${writeCount(seen.transfers)}`, isReasonOptional: true },
  effect: (
    <>
      <Sums of={seen} />
      <p>Exactly these transfers: where one was added or changed since, nothing is approved.</p>
    </>
  ),
  async run(note) {
    const { digest } = seen
    const body = note === '' ? { digest } : { digest, note }
    const { result } = await call('POST /batches/:batchId/approve', { params: { batchId }, body })
    return `Approved: ${Object.entries(result)
      .map(([name, count]) => `${writeCount(count)} ${toWords(name)}`)
      .join(', ')}.`
  },
})
