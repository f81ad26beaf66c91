import { thresholds } from '../../packages/cli/src/doctor/thresholds.ts'
import { code, duration, table } from './markdown.ts'

type Limit = (typeof thresholds)[number][2]

const format = (limit: Limit): string => (typeof limit === 'number' ? duration(limit) : (limit ?? '–'))

/** From when on the doctor reports what: the table in the guide to operating. */
export const writeThresholds = (): string =>
  table(
    ['code', 'measured by', 'warning from', 'serious from'],
    thresholds.map(([name, of, warning, serious]) => [code(name), of, format(warning), format(serious)]),
  )
