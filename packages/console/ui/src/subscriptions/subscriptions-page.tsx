import { Link } from 'wouter'
import { type Answer, call } from '../api/client.ts'
import { useMay } from '../api/permissions.ts'
import { useRead } from '../api/queries.ts'
import { ActionButtons } from '../parts/action-buttons.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { Moment, toWords, writeCount, writeSpan } from '../parts/format.tsx'
import { Page, Panel } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'
import { Badge } from '../parts/status.tsx'

type Subscription = Answer<'GET /subscriptions'>['subscriptions'][number]

/** Dead letters that are shown. */
const mostLetters = 100

/** Subscriptions: how far each is behind, and what its handler could not do. */
export function SubscriptionsPage() {
  const subscriptions = useRead('GET /subscriptions', {}, { everyMs: 60_000 })
  const letters = useRead('GET /dead-letters', { query: { limit: mostLetters } }, { everyMs: 60_000 })
  return (
    <Page title="Subscriptions" lead="Who gets events, how far each is behind, and what a handler could not do.">
      <Read of={subscriptions} what="Reading subscriptions">
        {(found) => (
          <div className="list">
            {found.subscriptions.length === 0 ? (
              <Empty title="No subscriptions">One appears here when a process with a handler has started.</Empty>
            ) : (
              <DataTable
                caption="Subscriptions"
                rows={found.subscriptions}
                keyOf={({ name }) => name}
                columns={[
                  { name: 'Name', cell: (one) => <Name of={one} /> },
                  { name: 'Due', align: 'end', cell: ({ undelivered }) => writeCount(undelivered) },
                  { name: 'Failing', align: 'end', isWide: true, cell: ({ failing }) => writeCount(failing) },
                  { name: 'Dead letters', align: 'end', cell: ({ deadLetters }) => writeCount(deadLetters) },
                  {
                    name: 'Behind',
                    align: 'end',
                    isWide: true,
                    cell: ({ lagMs }) => (lagMs === null ? 'nothing' : writeSpan(lagMs)),
                  },
                  { name: 'Last error', isWide: true, cell: ({ lastError }) => lastError ?? '' },
                  { name: 'Actions', cell: (one) => <Replay of={one} /> },
                ]}
              />
            )}
          </div>
        )}
      </Read>
      {subscriptions.error !== null ? null : (
        <Panel title="Dead letters" isFlush>
          <Read of={letters} what="Reading dead letters">
            {({ deadLetters }) =>
              deadLetters.length === 0 ? (
                <Empty title="No dead letters">Every event was delivered, or is tried again.</Empty>
              ) : (
                <>
                  {deadLetters.length < mostLetters ? null : (
                    <p className="muted">
                      The oldest {writeCount(mostLetters)} of{' '}
                      {writeCount(
                        subscriptions.data?.subscriptions.reduce((sum, one) => sum + one.deadLetters, 0) ?? 0,
                      )}
                      . A replay is about all of its subscription.
                    </p>
                  )}
                  <DataTable
                    caption="Dead letters"
                    rows={deadLetters}
                    keyOf={({ subscription, transferId, sequence }) => `${subscription} ${transferId} ${sequence}`}
                    columns={[
                      {
                        name: 'Event',
                        cell: ({ type, transferId }) => (
                          <span className="two-lines">
                            <Link href={`/transfers/${transferId}`} className="row-link">
                              {toWords(type)}
                            </Link>
                            <span className="muted mono ellipsis">{transferId}</span>
                          </span>
                        ),
                      },
                      { name: 'Subscription', cell: ({ subscription }) => subscription },
                      { name: 'Tried', align: 'end', isWide: true, cell: ({ failures }) => writeCount(failures) },
                      { name: 'Error', isWide: true, cell: ({ lastError }) => lastError ?? '' },
                      { name: 'Occurred', isWide: true, cell: ({ occurredAt }) => <Moment at={occurredAt} brief /> },
                    ]}
                  />
                </>
              )
            }
          </Read>
        </Panel>
      )}
    </Page>
  )
}

/** So long without a process that attends it, something is wrong. */
const longMs = 60_000

const Name = ({ of: { name, types, unattendedMs } }: { readonly of: Subscription }) => (
  <span className="two-lines">
    <span>
      <strong>{name}</strong> {unattendedMs > longMs ? <Badge tone="warn">nobody attends it</Badge> : null}
    </span>
    <span className="muted ellipsis" title={types.join(', ')}>
      {types.map((type) => toWords(type.replace(/^transfer\./, ''))).join(', ')}
    </span>
  </span>
)

function Replay({ of: { name, deadLetters, unattendedMs } }: { readonly of: Subscription }) {
  const may = useMay()
  const params = { subscription: name }
  const replay = {
    ...{ label: 'Replay', title: `Replay the dead letters of ${name}`, verb: 'Replay' },
    effect: <p>Its {writeCount(deadLetters)} dead letters are delivered again.</p>,
    async run(reason: string) {
      const { replayed } = await call('POST /subscriptions/:subscription/replay', { params, body: { reason } })
      return `Replayed: ${writeCount(replayed)}.`
    },
  }
  const remove = {
    ...{ label: 'Remove', title: `Remove ${name}`, verb: 'Remove', isDangerous: true },
    effect: (
      <p>It gets no events any more. The server refuses while a process attends it, or while events of it are due.</p>
    ),
    async run(reason: string) {
      const { removed } = await call('POST /subscriptions/:subscription/remove', { params, body: { reason } })
      return removed ? 'Removed.' : 'It was gone before.'
    },
  }
  const offers = [
    ...(may('act') && deadLetters > 0 ? [replay] : []),
    ...(may('configure') && unattendedMs > longMs ? [remove] : []),
  ]
  return (
    <span className="actions">
      <ActionButtons offers={offers} about={name} />
    </span>
  )
}
