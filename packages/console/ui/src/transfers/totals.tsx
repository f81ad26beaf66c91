import { useState } from 'react'
import { useRead } from '../api/queries.ts'
import { Money, writeCount } from '../parts/format.tsx'
import { Said } from '../parts/states.tsx'
import type { Filter } from './address-filter.ts'

/** One sum with its count. */
interface Sum {
  readonly currency: string
  readonly status: string
  readonly count: number
  readonly amount: string
}

/** Sums by currency and status, in a row. */
export function SumList({ totals }: { readonly totals: readonly Sum[] }) {
  if (totals.length === 0) return <p className="muted">Nothing matches.</p>
  return (
    <ul className="sums">
      {totals.map((one) => (
        <li key={`${one.currency} ${one.status}`}>
          <strong>
            <Money value={one.amount} currency={one.currency} />
          </strong>
          <span className="muted">
            {writeCount(one.count)} {one.status}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Everything that is settled is much, so its sum is read when somebody asks. */
const isNarrow = ({ accountId, batchId, createdAfter, stage, metadata }: Filter): boolean =>
  [accountId, batchId, createdAfter, metadata].some((one) => one !== undefined) ||
  (stage !== undefined && stage !== 'settled')

/** What the filtered transfers come to. */
export function Totals({ filter }: { readonly filter: Filter }) {
  const [wanted, want] = useState<string>()
  const key = JSON.stringify(filter)
  const isAsked = isNarrow(filter) || wanted === key
  const totals = useRead('GET /transfers/totals', { query: filter }, { enabled: isAsked })
  return (
    <div className="totals">
      <h2 className="visually-hidden">Totals of this list</h2>
      {!isAsked ? (
        <button type="button" className="link" onClick={() => want(key)}>
          Add up all transfers of this list
        </button>
      ) : totals.error !== null ? (
        <Said error={totals.error} />
      ) : totals.data === undefined ? (
        <p className="muted" role="status">
          Adding up …
        </p>
      ) : (
        <SumList totals={totals.data.totals} />
      )}
    </div>
  )
}
