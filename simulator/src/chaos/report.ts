import { quantile } from '../site/quantile.ts'
import { isClean, reportVerdict } from '../site/report.ts'
import { isKept, reportJudged } from '../site/site-recorder.ts'
import { layOut } from '../site/table.ts'
import type { ChaosResult, FaultRecord } from './chaos.ts'
import { type FaultName, faultKinds } from './faults.ts'

/** Longest recovery that is aimed at, in milliseconds. */
const aimsMs: Partial<Record<FaultName, number>> = { worker_killed: 20_000, postgres_crashed: 5_000 }

/** What a run came to, line by line. */
export function reportChaos({ seed, faults, verdict, judged, restMs }: ChaosResult): readonly string[] {
  const rows = (Object.keys(faultKinds) as FaultName[]).map((kind) => rowOf(kind, faults))
  return [
    ...layOut(['fault', 'times', 'with another', 'recovery p50', 'max', 'aim'], rows),
    '',
    ...(Object.keys(faultKinds) as FaultName[]).map((kind) => `${kind}: from ${faultKinds[kind].recovery}`),
    '',
    ...reportVerdict(verdict),
    `${'everything at its end after'.padEnd(38)} ${seconds(restMs).padStart(8)}`,
    '',
    ...reportJudged(judged),
    '',
    `Seed ${seed}: ${isClean(verdict) && isKept(judged) && restMs !== null ? 'every invariant held.' : 'something that must hold was broken.'}`,
  ]
}

function rowOf(kind: FaultName, faults: readonly FaultRecord[]): readonly string[] {
  const all = faults.filter((fault) => fault.kind === kind)
  const alone = all
    .filter(({ isOneOfTwo }) => !isOneOfTwo)
    .map(({ recoveryMs }) => recoveryMs ?? Number.POSITIVE_INFINITY)
  const aim = aimsMs[kind]
  return [
    kind,
    String(all.length),
    String(all.length - alone.length),
    seconds(quantile(alone, 0.5)),
    seconds(quantile(alone, 1)),
    aim === undefined ? '' : `< ${seconds(aim)}`,
  ]
}

/** Milliseconds as seconds. */
export function seconds(ms: number | null | undefined): string {
  if (ms === undefined) return '-'
  return ms === null || ms === Number.POSITIVE_INFINITY ? 'never' : `${(ms / 1_000).toFixed(1)} s`
}
