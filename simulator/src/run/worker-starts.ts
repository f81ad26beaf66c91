import type { PlannedStart } from '../plan/plan.ts'
import { startWorker } from '../workers/worker.ts'
import type { Run } from './run-state.ts'

/** Starts a worker where no other one lives. */
export async function ensureWorker(at: Run): Promise<void> {
  if ([...at.workers.values()].some(({ faultSchedule }) => !faultSchedule.isDead)) return
  // A process that shares its gateway does so for every engine in it.
  const sharesGateway = at.plan.steps.some((step) => step.do === 'start' && step.sharesGateway === true)
  await restart(at, { worker: 0, skewSeconds: 0, sharesGateway })
}

/** Starts a worker in the place of one that is dead. */
export async function restart(
  at: Run,
  { worker: number, ...how }: { readonly worker: number } & PlannedStart,
): Promise<string> {
  const old = at.workers.get(number)
  if (old !== undefined && !old.faultSchedule.isDead) return 'it runs'
  at.workers.delete(number)
  if (old !== undefined) at.retired.push(old)
  at.starts += 1
  at.workers.set(number, await startWorker(at, { ...how, name: `worker ${number}, start ${at.starts}` }))
  return ''
}
