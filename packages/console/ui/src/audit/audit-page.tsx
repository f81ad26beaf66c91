import type { FormEvent } from 'react'
import { Link, useSearchParams } from 'wouter'
import { type Answer, writeQuery } from '../api/client.ts'
import { useRead } from '../api/queries.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { capitalize, Moment, toWords } from '../parts/format.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'

type Entry = Answer<'GET /audit'>['records'][number]

const names = ['actor', 'command', 'transferId'] as const
const labels = { actor: 'Who', command: 'Command', transferId: 'Transfer' } as const

/** Who did what, and why. */
export function AuditPage() {
  const [search, setSearch] = useSearchParams()
  const read = (name: string) => search.get(name) || undefined
  const filter = { actor: read('actor'), command: read('command'), transferId: read('transferId') }
  const cursor = read('cursor')
  const page = useRead('GET /audit', { query: { ...filter, cursor, limit: 50 } }, { keep: true })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    setSearch(
      new URLSearchParams(
        writeQuery(Object.fromEntries(names.map((name) => [name, String(form.get(name) ?? '').trim()]))),
      ),
    )
  }
  return (
    <Page
      title="Audit"
      lead="Who did what, and why: rows that are only added. The newest first."
      actions={<CsvButton file="audit.csv" filter={filter} />}
    >
      <form className="more-form" key={JSON.stringify(filter)} onSubmit={submit}>
        {names.map((name) => (
          <label key={name} className="field">
            <span>{labels[name]}</span>
            <input
              name={name}
              defaultValue={filter[name] ?? ''}
              maxLength={255}
              {...(name === 'command' ? { placeholder: 'transfers.hold' } : {})}
            />
          </label>
        ))}
        <button type="submit" className="button">
          Filter
        </button>
      </form>
      <Read of={page} what="Reading the audit">
        {({ records, nextCursor }) => (
          <div className="list">
            {records.length === 0 ? (
              <Empty title="No entries">
                {Object.values(filter).some((one) => one !== undefined)
                  ? 'Nothing matches.'
                  : 'Nobody has done anything by hand yet.'}
              </Empty>
            ) : (
              <Entries records={records} />
            )}
            {cursor === undefined && nextCursor === null ? null : (
              <nav aria-label="Pages of the list" className="pager">
                {cursor === undefined ? <span /> : <Link href={`/audit${writeQuery(filter)}`}>← Newest</Link>}
                {nextCursor === null ? null : (
                  <Link href={`/audit${writeQuery({ ...filter, cursor: nextCursor })}`}>Older →</Link>
                )}
              </nav>
            )}
          </div>
        )}
      </Read>
    </Page>
  )
}

const Entries = ({ records }: { readonly records: readonly Entry[] }) => (
  <DataTable
    caption="Entries of the audit"
    rows={records}
    keyOf={({ id }) => id}
    columns={[
      { name: 'Who', cell: ({ actor }) => <strong>{actor ?? 'nobody'}</strong> },
      {
        name: 'What',
        cell: ({ command, transferId, before, after }) => (
          <span className="two-lines">
            <span>{capitalize(toWords(command.replace('.', ': ')))}</span>
            {transferId === null ? null : (
              <Link href={`/transfers/${transferId}`} className="mono ellipsis">
                {transferId}
              </Link>
            )}
            <details>
              <summary className="muted">Before and after</summary>
              <pre>{JSON.stringify({ before, after }, null, 2)}</pre>
            </details>
          </span>
        ),
      },
      { name: 'Why', cell: ({ reason }) => reason ?? <span className="muted">no reason given</span> },
      { name: 'Login', isWide: true, cell: ({ login }) => <span className="muted">{login}</span> },
      { name: 'When', isWide: true, cell: ({ at }) => <Moment at={at} brief /> },
    ]}
  />
)
