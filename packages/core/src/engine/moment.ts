/** Years that Postgres reads as they are written here. */
const storedYears = /^(?!0000)\d{4}-/

/** The stored form of a moment: ISO 8601 in UTC, in the years 1 to 9999; null for any other. */
const format = (time: number): string | null => {
  const date = new Date(time)
  const text = Number.isNaN(date.getTime()) ? '' : date.toISOString()
  return storedYears.test(text) ? text : null
}

/** The stored form of a moment, ISO 8601 in UTC; null for null and for a text that is no moment. */
export const momentOf = (value: string | null | undefined): string | null => format(Date.parse(value ?? ''))

/**
 * The text of a moment as others read it, databases too: as it is written where it is in UTC, otherwise its stored form. Null for a text that
 * is no moment.
 */
export const textOfMoment = (text: string): string | null =>
  text.endsWith('Z') && parseMoment(text) !== null ? text : momentOf(text)

const dateAndTime =
  /^(\d{4})-(\d{2})-(\d{2})T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/**
 * Reads a host's moment into the stored form: a Date, or a date and a time with `Z` or an offset in ISO 8601. Null for anything
 * else: a lenient reading could yield another moment than the host meant.
 */
export function parseMoment(value: unknown): string | null {
  if (value instanceof Date) return format(value.getTime())
  if (typeof value !== 'string') return null
  const [, year = '', month = '', day = ''] = dateAndTime.exec(value) ?? []
  if (year === '' || Number(day) < 1 || Number(day) > daysOf(Number(year), Number(month))) return null
  return format(Date.parse(value))
}

/** Days of a month; 0 for a month that does not exist. */
const daysOf = (year: number, month: number): number =>
  month < 1 || month > 12 ? 0 : new Date(Date.UTC(year, month, 0)).getUTCDate()
