import type { ServiceContext } from '../context.ts'
import { parameterError } from './problem.ts'

/** Filters of a list that are set, by the name of their query parameter. */
export type Filters = Readonly<Record<string, string>>

/**
 * The filters, once those with a closed list of values have one of it.
 * @throws OutlayError `invalid_request` that names the parameter and lists its values.
 */
export function readChoices(filters: Filters, choices: Readonly<Record<string, readonly string[]>>): Filters {
  for (const [name, values] of Object.entries(choices)) {
    const given = filters[name]
    if (given !== undefined && !values.includes(given)) {
      throw parameterError(name, `The filter is one of ${values.join(', ')}, in this spelling.`)
    }
  }
  return filters
}

/**
 * The filters by value type and transfer type in the spelling that rows have. The specification says that they match exactly; programs of
 * the public contract write them in either case, and any known spelling of a name matches there. What the catalog does not have matches nothing, in both.
 */
export function readTypes(
  { catalog, dialect }: Pick<ServiceContext, 'catalog' | 'dialect'>,
  filters: Filters,
): Filters {
  if (dialect !== 'public') return filters
  const { value_type: valueType, transfer_type: transferType } = filters
  return {
    ...filters,
    ...(valueType === undefined ? {} : { value_type: catalog.valueType(valueType)?.name ?? valueType }),
    ...(transferType === undefined ? {} : { transfer_type: catalog.transferType(transferType)?.name ?? transferType }),
  }
}
