import { type Issue, OutlayError } from '@outlay/core'

/**
 * Runs what judges the rows of a list, and names the fields of its refusals below the list: `policies.0.name` for `0.name`.
 * @throws what `work` throws; OutlayError with the rules that were known to be broken, and those that `work` finds in other fields
 */
export async function inList<T>(list: string, work: () => T | Promise<T>, known: readonly Issue[] = []): Promise<T> {
  let found: readonly Issue[] = []
  try {
    const done = await work()
    if (known.length === 0) return done
  } catch (error) {
    if (!OutlayError.is(error) || !error.issues.some(isOfRow)) throw error
    found = error.issues.map((one) => (isOfRow(one) ? { ...one, field: `${list}.${one.field}` } : one))
  }
  const others = found.filter(({ field }) => known.every((one) => one.field !== field))
  throw OutlayError.fromIssues([...known, ...others] as readonly Issue[] as readonly [Issue, ...Issue[]])
}

const isOfRow = ({ field }: Issue): boolean => /^\d+(\.|$)/.test(field)
