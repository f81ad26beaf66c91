import { QueryClient, type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query'
import { type Answer, type Ask, call, type Place, Refusal } from './client.ts'

/** One cache for all pages. What was refused is refused again, so only silence is tried a second time. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 1 && !(error instanceof Refusal),
      refetchOnWindowFocus: true,
    },
  },
})

/** How often something is read again while its page is open. */
export interface Reading {
  readonly everyMs?: number | false | undefined
  readonly enabled?: boolean | undefined
  /** Shows the answer of the question before while this one is asked. */
  readonly keep?: boolean | undefined
}

/** Reads a route, and reads it again when something was done. */
export function useRead<P extends Place, T = Answer<P>>(
  place: P,
  ask: Ask<P>,
  {
    everyMs = false,
    enabled = true,
    keep = false,
    select,
  }: Reading & { readonly select?: (answer: Answer<P>) => T } = {},
): UseQueryResult<T> {
  return useQuery<Answer<P>, Error, T>({
    queryKey: [place, ask],
    queryFn: ({ signal }) => call(place, { ...ask, signal }),
    refetchInterval: everyMs,
    enabled,
    ...(select === undefined ? {} : { select }),
    ...(keep ? { placeholderData: (before: Answer<P> | undefined) => before as never } : {}),
  })
}

/** What somebody decides by. It stays as they saw it until they ask for it again, or a second press would be about something else. */
const seen: readonly unknown[] = ['preview', 'decision']

/** Makes every answer on the page old: after an action nobody knows what else has changed. */
export function useRefresh(): () => Promise<void> {
  const client = useQueryClient()
  return () => client.invalidateQueries({ predicate: ({ queryKey: [first] }) => !seen.includes(first) })
}

/** Who asks, and what they may do. */
export type Person = Answer<'GET /me'>

/** Reads who asks. */
export const usePerson = (): UseQueryResult<Person> => useRead('GET /me', {}, { everyMs: 300_000 })
