import { OutlayError } from '@outlay/core'

/**
 * Runs what judges the rows of a list, and names the fields of its refusals below the list: `policies.0.name` for `0.name`.
 * @throws what `work` throws
 */
export async function inList<T>(list: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!OutlayError.is(error) || !error.issues.some(isOfRow)) throw error
    const [first, ...others] = error.issues.map((one) =>
      isOfRow(one) ? { ...one, field: `${list}.${one.field}` } : one,
    )
    throw first === undefined ? error : OutlayError.fromIssues([first, ...others])
  }
}

const isOfRow = ({ field }: OutlayError['issues'][number]): boolean => /^\d+(\.|$)/.test(field)
