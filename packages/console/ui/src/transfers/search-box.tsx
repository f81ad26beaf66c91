import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { call, Refusal } from '../api/client.ts'
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

/** Finds transfers by what people have at hand: their id, their id at the service, or their key, which each account may have. */
async function findAlike(text: string, { accountId }: Filter): Promise<readonly Pick<Transfer, 'id' | 'accountId'>[]> {
  if (ulid.test(text)) {
    const transferId = text.toUpperCase()
    const found = await tried(call('GET /transfers/:transferId', { params: { transferId } }))
    if (found !== undefined) return [found.transfer]
  }
  const remote = await tried(call('GET /transfers/by-remote-id', { query: { remoteId: text } }))
  if (remote !== undefined && remote.transfers.length > 0) return remote.transfers.slice(0, 1)
  const idempotencyKey = text
  if (accountId === undefined)
    return (await tried(call('GET /transfers/with-key', { query: { idempotencyKey } })))?.transfers ?? []
  const own = await tried(call('GET /transfers/by-key', { query: { accountId, idempotencyKey } }))
  return own === undefined ? [] : [own.transfer]
}

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
  const [said, setSaid] = useState('')
  const [, go] = useLocation()
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
      const [first, ...others] = await findAlike(wanted, filter)
      if (first !== undefined && others.length === 0) return go(`/transfers/${first.id}`)
      if (first !== undefined) {
        const accounts = [first, ...others].map(({ accountId }) => accountId).join(', ')
        return setSaid(`Several accounts have this key: ${accounts}. Filter by one of them, and search again.`)
      }
      if (thousands.test(wanted) || !/\d/.test(wanted)) {
        setText('')
        setSaid('')
        return thousands.test(wanted) ? onAmount(wanted.replaceAll(',', '')) : onPayee(wanted)
      }
      setSaid(`No transfer${filter.accountId === undefined ? '' : ` of ${filter.accountId}`} has this id or key.`)
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
