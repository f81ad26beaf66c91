import { Menu } from '@base-ui/react/menu'
import { useContext, useState } from 'react'
import { Link } from 'wouter'
import { writeQuery } from '../api/client.ts'
import { hasAny, PersonContext } from '../api/permissions.ts'
import { useRead } from '../api/queries.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { capitalize, Moment, Money } from '../parts/format.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'
import { Payee, TransferState } from '../parts/status.tsx'
import { type Filter, partsOf, type Transfer, useFilter } from './address-filter.ts'
import { BulkDialog, type BulkVerb, bulkVerbs } from './bulk-dialog.tsx'
import { FilterChips, FilterForm, StageTabs } from './filters.tsx'
import { SearchBox } from './search-box.tsx'
import { Totals } from './totals.tsx'

/** The columns of a list of transfers. */
const transferColumns: readonly Column<Transfer>[] = [
  {
    name: 'Amount',
    align: 'end',
    cell: ({ id, amount }) => (
      <Link href={`/transfers/${id}`} className="row-link">
        <Money {...amount} />
      </Link>
    ),
  },
  { name: 'State', cell: (one) => <TransferState {...one} /> },
  { name: 'Paid to', cell: (one) => <Payee {...one} /> },
  {
    name: 'Account',
    isWide: true,
    cell: ({ accountId, gateway }) => (
      <span className="two-lines">
        <span className="ellipsis">{accountId}</span>
        {gateway === 'default' ? null : <span className="muted">{gateway}</span>}
      </span>
    ),
  },
  {
    name: 'Key',
    isWide: true,
    cell: ({ idempotencyKey, metadata }) => (
      <span className="two-lines">
        <span className="mono ellipsis" title={idempotencyKey}>
          {idempotencyKey}
        </span>
        {metadata === null ? null : (
          <span className="muted ellipsis">
            {Object.entries(metadata)
              .map(([name, value]) => `${name}=${value}`)
              .join(' ')}
          </span>
        )}
      </span>
    ),
  },
  { name: 'Created', isWide: true, cell: ({ createdAt }) => <Moment at={createdAt} brief /> },
]

function BulkMenu({ onChoose }: { readonly onChoose: (verb: BulkVerb) => void }) {
  const person = useContext(PersonContext)
  const verbs = (Object.keys(bulkVerbs) as BulkVerb[]).filter((verb) =>
    hasAny(person, verb === 'approve' || verb === 'reject' ? 'approve' : 'act'),
  )
  if (verbs.length === 0) return null
  return (
    <Menu.Root>
      <Menu.Trigger className="button">Act on all of these ▾</Menu.Trigger>
      <Menu.Portal container={document.querySelector<HTMLElement>('main')}>
        <Menu.Positioner sideOffset={6} align="end" className="over">
          <Menu.Popup className="menu">
            {verbs.map((verb) => (
              <Menu.Item key={verb} className="menu-item" onClick={() => onChoose(verb)}>
                {capitalize(verb)} …
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

/** Transfers: searched, filtered, added up, page by page. */
export function TransfersPage() {
  const { filter, cursor, set, clear } = useFilter()
  const [verb, setVerb] = useState<BulkVerb>()
  const page = useRead('GET /transfers', { query: { ...filter, limit: 50, cursor } }, { keep: true })
  const isFiltered = partsOf(filter).length > 0
  return (
    <Page
      title="Transfers"
      lead="The newest first. The address of this page is the filter: send it to a colleague."
      actions={
        <>
          <CsvButton file="transfers.csv" filter={filter} />
          {isFiltered ? <BulkMenu onChoose={setVerb} /> : null}
        </>
      }
    >
      <div className="toolbar">
        <SearchBox
          filter={filter}
          onPair={(name, value) => set({ [`metadata[${name}]`]: value })}
          onAmount={(amount) => set({ amount })}
          onPayee={(payee) => set({ payee })}
        />
        <FilterForm filter={filter} set={set} />
      </div>
      <StageTabs filter={filter} set={set} />
      <FilterChips filter={filter} set={set} />
      <Totals filter={filter} />
      <Read of={page} what="Reading transfers">
        {({ transfers, nextCursor }) => (
          <section aria-label="Transfers" aria-busy={page.isPlaceholderData} className="list">
            {transfers.length === 0 && nextCursor === null ? (
              <NoTransfers isFiltered={isFiltered} clear={clear} />
            ) : (
              <DataTable caption="Transfers" columns={transferColumns} rows={transfers} keyOf={({ id }) => id} />
            )}
            <Pager filter={filter} cursor={cursor} next={nextCursor} isEmpty={transfers.length === 0} />
          </section>
        )}
      </Read>
      <BulkDialog verb={verb} filter={filter} onClose={() => setVerb(undefined)} />
    </Page>
  )
}

const NoTransfers = ({ isFiltered, clear }: { readonly isFiltered: boolean; readonly clear: () => void }) =>
  isFiltered ? (
    <Empty title="No transfer matches">
      <button type="button" className="link" onClick={clear}>
        Take all filters away
      </button>
    </Empty>
  ) : (
    <Empty title="No transfers yet">The first one appears here when a transaction with an enqueue has committed.</Empty>
  )

function Pager({
  filter,
  cursor,
  next,
  isEmpty,
}: {
  readonly filter: Filter
  readonly cursor: string | undefined
  readonly next: string | null
  readonly isEmpty: boolean
}) {
  if (cursor === undefined && next === null) return null
  return (
    <nav aria-label="Pages of the list" className="pager">
      {cursor === undefined ? <span /> : <Link href={`/transfers${writeQuery(filter)}`}>← Newest</Link>}
      {isEmpty && next !== null ? <span className="muted">Nothing on this part; there is more.</span> : null}
      {next === null ? <span /> : <Link href={`/transfers${writeQuery({ ...filter, cursor: next })}`}>Older →</Link>}
    </nav>
  )
}
