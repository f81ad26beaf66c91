/** A moment in the one spelling that is stored, ISO 8601 in UTC; null for none, and for a text that is no moment. */
export const momentOf = (value: string | null | undefined): string | null => {
  const time = Date.parse(value ?? '')
  const text = Number.isNaN(time) ? '' : new Date(time).toISOString()
  // Years of more than four digits are no moments of transfers, and the database reads them differently.
  return /^\d{4}-/.test(text) ? text : null
}
