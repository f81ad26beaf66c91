import { type FormEvent, Fragment, type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { call, Refusal } from '../api/client.ts'
import { groupDigits } from '../parts/format.tsx'
import { useNotice } from '../parts/notices.tsx'
import type { Filter, Transfer } from './address-filter.ts'

const ulid = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i

/** Says whether a route has found something: what it does not find or does not take is not there. */
async function tried<T>(ask: Promise<T>): Promise<T | undefined> {
  try {
    return await ask
  } catch (error) {
    if (error instanceof Refusal && [404, 422].includes(error.problem.status)) return undefined
    throw error
  }
}

/** What a search by an id or a key has found. */
interface Found {
  readonly transfers: readonly Transfer[]
  /** True where others may have the key, too: not all accounts were searched. */
  readonly isCut: boolean
}

const all = (transfers: readonly Transfer[]): Found => ({ transfers, isCut: false })

/** Finds transfers by what people have at hand: their id, their id at the service, or their key, which each account may have. */
async function findAlike(text: string, { accountId }: Filter): Promise<Found> {
  if (ulid.test(text)) {
    const transferId = text.toUpperCase()
    const found = await tried(call('GET /transfers/:transferId', { params: { transferId } }))
    if (found !== undefined) return all([found.transfer])
  }
  const remote = await tried(call('GET /transfers/by-remote-id', { query: { remoteId: text } }))
  const alike = (remote?.transfers ?? []).filter((one) => accountId === undefined || one.accountId === accountId)
  if (alike.length > 0) return all(alike)
  const idempotencyKey = text
  if (accountId === undefined)
    return (await tried(call('GET /transfers/with-key', { query: { idempotencyKey } }))) ?? all([])
  const own = await tried(call('GET /transfers/by-key', { query: { accountId, idempotencyKey } }))
  return all(own === undefined ? [] : [own.transfer])
}

/** What finds a key in each account. */
const searchOne = 'There are more accounts than were searched: filter by one, and search again.'

/** Transfers that have the same id or key, each of which may be the one that is meant. */
const Several = ({ of: { transfers, isCut } }: { readonly of: Found }) => (
  <>
    Several transfers have it:{' '}
    {transfers.map(({ id, accountId, gateway, amount }, at) => (
      <Fragment key={id}>
        {at === 0 ? '' : ', '}
        <Link href={`/transfers/${id}`}>
          {groupDigits(amount.value)} {amount.currency} of {accountId} at {gateway}
        </Link>
      </Fragment>
    ))}
    . {isCut ? searchOne : ''}
  </>
)

const thousands = /^\d{1,3}(,\d{3})*(\.\d{1,18})?$|^\d{1,30}(\.\d{1,18})?$/

/**
 * Searches: an id or a key opens its transfer. `name=value` narrows by metadata, a number by the amount, and a text without digits by the
 * payee.
 */
export function SearchBox({
  filter,
  onPair,
  onAmount,
  onPayee,
}: {
  readonly filter: Filter
  readonly onPair: (name: string, value: string) => void
  readonly onAmount: (amount: string) => void
  readonly onPayee: (name: string) => void
}) {
  const [text, setText] = useState('')
  const [said, setSaid] = useState<ReactNode>('')
  const [, go] = useLocation()
  const notify = useNotice()
  const search = async (event: FormEvent) => {
    event.preventDefault()
    const wanted = text.trim()
    if (wanted === '') return
    const pair = /^([\w.-]{1,40})=(.+)$/.exec(wanted)
    if (pair !== null) {
      setText('')
      return onPair(pair[1] ?? '', pair[2] ?? '')
    }
    setSaid('Searching …')
    try {
      const found = await findAlike(wanted, filter)
      const [first, ...others] = found.transfers
      if (first !== undefined && others.length === 0) {
        if (found.isCut) notify('Others may have this key, too', searchOne)
        return go(`/transfers/${first.id}`)
      }
      if (first !== undefined) return setSaid(<Several of={found} />)
      if (thousands.test(wanted) || !/\d/.test(wanted)) {
        setText('')
        setSaid('')
        return thousands.test(wanted) ? onAmount(wanted.replaceAll(',', '')) : onPayee(wanted)
      }
      const whose = filter.accountId === undefined ? '' : ` of ${filter.accountId}`
      setSaid(
        found.isCut
          ? `No transfer has this id, and none this key in the accounts that were searched. ${searchOne}`
          : `No transfer${whose} has this id or key.`,
      )
    } catch (error) {
      setSaid(error instanceof Error ? error.message : 'It could not be searched.')
    }
  }
  return (
    <search>
      <form className="search" onSubmit={(event) => void search(event)}>
        <input
          type="search"
          aria-label="Find by id, id at the service, key, amount, payee, or metadata as name=value"
          placeholder="Id, key, amount, payee, or order=1042"
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setSaid('')
          }}
        />
        <button type="submit" className="button">
          Find
        </button>
      </form>
      <p className="search-said" role="status">
        {said}
      </p>
    </search>
  )
}
