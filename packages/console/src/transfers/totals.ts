import { Amount } from '@outlay/core'
import { demandCurrency } from '@outlay/core/adapter'
import { z } from 'zod'
import type { Accounts } from '../authorization/scope.ts'
import { component } from '../component.ts'
import type { ConsoleContext } from '../context.ts'
import { compact, type Filter } from './filter.ts'
import { accountsOf } from './search.ts'

/** What transfers come to, in one currency and status. */
export const totalSchema = component(
  'Total',
  z.object({
    currency: z.string(),
    status: z.string(),
    count: z.int(),
    amount: z.string().meta({ description: 'Decimal string.' }),
  }),
)

/** What transfers come to, in one currency and status. */
export type Total = z.output<typeof totalSchema>

/** Count and sum of all transfers of a filter, of the accounts of a person. Reads each of them. */
export async function addTotals(
  { inspection, catalog }: ConsoleContext,
  accounts: Accounts,
  { createdAfter, createdBefore, ...filter }: Filter,
  signal: AbortSignal,
): Promise<readonly Total[]> {
  const found: Total[] = []
  for (const one of accountsOf(accounts, filter)) {
    signal.throwIfAborted()
    const query = compact({ ...filter, accountId: one, since: createdAfter, until: createdBefore })
    found.push(...(await inspection.totals(query)))
  }
  if (found.length === 0) demandCurrency(catalog, filter.currency)
  return sumTotals(found)
}

/** Adds up totals of the same currency and status. */
export function sumTotals(totals: readonly Total[]): readonly Total[] {
  const sums = new Map<string, Total>()
  for (const one of totals) {
    const key = JSON.stringify([one.currency, one.status])
    const sum = sums.get(key)
    sums.set(key, sum === undefined ? one : { ...sum, count: sum.count + one.count, amount: addDecimals(sum, one) })
  }
  return [...sums.entries()].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum)
}

const addDecimals = ({ amount, currency }: Total, other: Total): string =>
  Amount.add({ value: amount, currency }, { value: other.amount, currency }).value
