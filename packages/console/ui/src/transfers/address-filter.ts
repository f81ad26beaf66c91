import { useSearchParams } from 'wouter'
import type { Answer, Api } from '../api/client.ts'

/** Which transfers are meant, as the API takes it. */
export type Filter = Omit<Api['GET /transfers']['query'], 'limit' | 'cursor'>

/** One transfer of a list. */
export type Transfer = Answer<'GET /transfers'>['transfers'][number]

const names: readonly string[] = [
  ...[
    'accountId',
    'gateway',
    'stage',
    'status',
    'reason',
    'amount',
    'currency',
    'payee',
    'batchId',
    'createdAfter',
    'createdBefore',
  ],
]

/** Reads the filter from the parameters of an address: those that the API has itself. */
function readFilter(search: URLSearchParams): Filter {
  const filter: Record<string, unknown> = {}
  const metadata: Record<string, string> = {}
  for (const [name, value] of search) {
    const pair = /^metadata\[(.+)\]$/.exec(name)?.[1]
    if (value === '') continue
    if (pair !== undefined) metadata[pair] = value
    else if (names.includes(name)) filter[name] = value
  }
  return (Object.keys(metadata).length === 0 ? filter : { ...filter, metadata }) as Filter
}

/** The filter, the page and the changes of both: all of it is the address, so a link shows the same. */
export function useFilter() {
  const [search, setSearch] = useSearchParams()
  const set = (changes: Readonly<Record<string, string | undefined>>) =>
    setSearch((before) => {
      const next = new URLSearchParams(before)
      // Another filter begins at its first page.
      next.delete('cursor')
      for (const [name, value] of Object.entries(changes)) {
        if (value === undefined || value === '') next.delete(name)
        else next.set(name, value)
      }
      return next
    })
  return {
    filter: readFilter(search),
    cursor: search.get('cursor') ?? undefined,
    set,
    clear: () => setSearch(new URLSearchParams()),
  }
}

/** The members of a filter one by one, as they are shown. */
export const partsOf = ({ metadata = {}, ...others }: Filter): readonly (readonly [name: string, value: string])[] => [
  ...Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as const])),
  ...Object.entries(metadata).map(([name, value]) => [`metadata[${name}]`, String(value)] as const),
]

/** Columns and filters name members in words. */
export const words: Readonly<Record<string, string>> = {
  ...{ accountId: 'account', batchId: 'batch', createdAfter: 'from', createdBefore: 'before' },
}
