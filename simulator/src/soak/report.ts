import { isClean, reportVerdict } from '../site/report.ts'
import { isKept, reportJudged } from '../site/site-recorder.ts'
import { layOut } from '../site/table.ts'
import { compareFifths, type Growth, type Part } from './growth.ts'
import type { SoakResult } from './soak.ts'

interface Unit {
  readonly title: string
  readonly part: Part
  readonly format: (value: number) => string
  /** What each payout added, where that says something. */
  readonly perPayout?: (value: number) => string
  /** Also leaves out what stays this small throughout. */
  readonly least: number
}

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`
const bytes = (value: number): string => `${Math.round(value)} B`
const milliseconds = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} ms`

const units: readonly Unit[] = [
  { title: 'resident memory', part: 'memory', format: megabytes, perPayout: bytes, least: 0 },
  { title: 'table with indexes', part: 'tables', format: megabytes, perPayout: bytes, least: 256 * 2 ** 10 },
  { title: 'dead rows', part: 'deadRows', format: (rows) => rows.toFixed(0), least: 200 },
  { title: 'latency', part: 'latencies', format: milliseconds, least: 0 },
]

/** What a run came to, line by line. */
export function reportSoak({ rate, samples, verdict, judged, restMs }: SoakResult): readonly string[] {
  return [
    ...units.flatMap((unit) => [...reportUnit(unit, compareFifths(samples, unit.part)), '']),
    ...reportVerdict(verdict),
    `${'everything at its end after'.padEnd(38)} ${restMs === null ? 'never' : `${(restMs / 1_000).toFixed(1)} s`}`,
    '',
    ...reportJudged(judged),
    '',
    `${rate} payouts/s: ${isClean(verdict) && isKept(judged) && restMs !== null ? 'nothing lost, nothing paid twice.' : 'something that must hold was broken.'}`,
  ]
}

function reportUnit({ title, format, perPayout, least }: Unit, growths: readonly Growth[]): readonly string[] {
  const rows = growths
    .filter(({ first, last }) => Math.max(first, last) >= least)
    .map((growth) => [
      growth.name,
      format(growth.first),
      format(growth.last),
      perPayout?.(growth.perPayout) ?? '',
      growth.grows ? 'grows' : 'flat',
    ])
  const head = [title, 'first fifth', 'last fifth', perPayout === undefined ? '' : 'per payout', '']
  return rows.length === 0 ? [`${title}: too few samples`] : layOut(head, rows)
}
