import { OutlayError } from '../error.ts'

/** Path of the first member that has a value and is not in what was read of it. */
function findDropped(given: object, parsed: object, prefix: string): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue
    const member = name.replace(/_([a-z0-9])/g, (_, first: string) => first.toUpperCase())
    if (!Object.hasOwn(parsed, member)) return `${prefix}${name}`
    const inner: unknown = parsed[member as keyof typeof parsed]
    if (typeof value !== 'object' || typeof inner !== 'object' || inner === null || Array.isArray(inner)) continue
    const dropped = findDropped(value, inner, `${prefix}${name}.`)
    if (dropped !== undefined) return dropped
  }
  return undefined
}

/** Members of the objects in a request, for a message. */
const innerNames: ReadonlyMap<string, string> = new Map([
  ['amount', 'value and currency'],
  ['source', 'addressId, valueType and transferType'],
  ['destination', 'addressId or address, valueType, transferType and wireMemo'],
])

/**
 * Throws `invalid_request` for a member that has a value and is not in what was read of the request, so that nothing that the caller
 * wants is dropped. `names` lists the members that there are.
 */
export function refuseUnread(given: object, parsed: object, names: string, prefix = ''): void {
  const field = findDropped(given, parsed, prefix)
  if (field === undefined) return
  const name = field.slice(prefix.length)
  const there = innerNames.get(name.slice(0, name.lastIndexOf('.')))
  const message = name.includes('.')
    ? `does not exist there${there === undefined ? '' : `; there are ${there}`}`
    : `is no member of a request; there are ${names}`
  throw OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
}
