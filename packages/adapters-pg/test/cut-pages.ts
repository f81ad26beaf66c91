import type { Gateway } from '@outlay/core'

/**
 * The list of a gateway, as a service shows it that examines few transfers for a page: an empty page with a cursor stands before each of
 * its pages.
 */
export function cutPages(gateway: Gateway, size: number): NonNullable<Gateway['list']> {
  const from = 'from '
  return async (accountId, { cursor, ...options }) => {
    if (cursor?.startsWith(from) !== true) return { observations: [], next: `${from}${cursor ?? ''}` }
    const inner = cursor.slice(from.length)
    const page = await gateway.list?.(accountId, {
      ...options,
      limit: size,
      cursor: inner === '' ? undefined : inner,
    })
    return page ?? { observations: [] }
  }
}
