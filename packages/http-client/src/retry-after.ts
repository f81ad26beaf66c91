/** Longest accepted delay, in milliseconds: one day. */
const ceilingMs = 86_400_000

/**
 * Reads a `Retry-After` header, seconds or an HTTP date, as milliseconds from `now`.
 *
 * A date in the past is 0, more than a day is a day, and anything unreadable is `undefined`.
 */
export function readRetryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), ceilingMs)
  // Date.parse accepts nearly everything, so the shape is checked against the three forms of RFC 9110.
  if (!/^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}/.test(text)) return undefined
  const at = Date.parse(/GMT|UTC|\+/.test(text) ? text : `${text} GMT`)
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at - now.getTime(), 0), ceilingMs)
}
