import { Link, useSearchParams } from 'wouter'
import { type Answer, writeQuery } from '../api/client.ts'
import { useRead } from '../api/queries.ts'
import { DataTable } from '../parts/data-table.tsx'
import { Moment, writeCount } from '../parts/format.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'
import { Badge } from '../parts/status.tsx'

/** One batch. */
export type Batch = Answer<'GET /batches'>['batches'][number]

/** How a batch stands. */
export const BatchState = ({ state, paused }: Pick<Batch, 'state' | 'paused'>) => (
  <span className="state-of">
    <Badge tone={state === 'completed' ? 'good' : state === 'closed' ? 'busy' : 'idle'}>{state}</Badge>
    {paused ? <Badge tone="warn">paused</Badge> : null}
  </span>
)

/** Batches, the newest first. */
export function BatchesPage() {
  const [search] = useSearchParams()
  const cursor = search.get('cursor') ?? undefined
  const page = useRead('GET /batches', { query: { cursor, limit: 50 } }, { keep: true })
  return (
    <Page title="Batches" lead="Transfers that belong together, the newest first.">
      <Read of={page} what="Reading batches">
        {({ batches, nextCursor }) => (
          <div className="list">
            {batches.length === 0 ? (
              <Empty title="No batches">A batch appears here when your application has made one.</Empty>
            ) : (
              <DataTable
                caption="Batches"
                rows={batches}
                keyOf={({ id }) => id}
                columns={[
                  {
                    name: 'Batch',
                    cell: ({ id, key }) => (
                      <Link href={`/batches/${id}`} className="row-link ellipsis">
                        {key ?? id}
                      </Link>
                    ),
                  },
                  { name: 'State', cell: (one) => <BatchState {...one} /> },
                  {
                    name: 'Ended',
                    align: 'end',
                    cell: ({ counts }) => `${writeCount(counts.total - counts.unended)} of ${writeCount(counts.total)}`,
                  },
                  { name: 'Failed', align: 'end', isWide: true, cell: ({ counts }) => writeCount(counts.failed) },
                  { name: 'Account', isWide: true, cell: ({ accountId }) => accountId ?? 'any' },
                  { name: 'Created', isWide: true, cell: ({ createdAt }) => <Moment at={createdAt} brief /> },
                ]}
              />
            )}
            {cursor === undefined && nextCursor === null ? null : (
              <nav aria-label="Pages of the list" className="pager">
                {cursor === undefined ? <span /> : <Link href="/batches">← Newest</Link>}
                {nextCursor === null ? null : (
                  <Link href={`/batches${writeQuery({ cursor: nextCursor })}`}>Older →</Link>
                )}
              </nav>
            )}
          </div>
        )}
      </Read>
    </Page>
  )
}
