import { defaultGateway } from '@outlay/core'
import type { Column } from './table.ts'

/** The columns with that of the gateway behind the first two, where there is more to say than that it is the only one. */
export function showGateway<Row extends { readonly gateway: string | null }>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): readonly Column<Row>[] {
  if (rows.every(({ gateway }) => gateway === null || gateway === defaultGateway)) return columns
  return [...columns.slice(0, 2), ['gateway', (row) => row.gateway], ...columns.slice(2)]
}
