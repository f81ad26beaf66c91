import type { Gateway, Observation, SendOptions, StoredTransfer, Submission, SubmitResult } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import type { Driver } from '../src/database/driver.ts'
import { type HostEngine, reach, type TestHost } from './host.ts'
import { samplePayout } from './outbox.ts'

/** An answer that says that nothing was paid. */
export const poor = { outcome: 'insufficient_balance', detail: 'none', keyEvaluated: true } as const

/** Makes a gateway whose requests wait until they may go, and then ask whether they may still begin. */
export function hesitantGateway<G extends Gateway>(inner: G) {
  const gone = Promise.withResolvers<void>()
  const counts = { waiting: 0, asked: 0 }
  const submit = async (submission: Submission, options: SendOptions): Promise<SubmitResult> => {
    counts.waiting += 1
    await gone.promise
    counts.asked += 1
    if (options.mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
    return inner.submit(submission, options)
  }
  return { gateway: { ...inner, submit }, counts, go: () => gone.resolve() }
}

/** Makes a driver that fetches nothing more once `hasOne`, and on which these functions answer nothing. */
export const fetchingUntil = <Tx>(
  driver: Driver<Tx>,
  hasOne: () => boolean,
  unanswered: readonly string[] = [],
): Driver<Tx> => ({
  ...driver,
  query: (statement, values) =>
    unanswered.some((name) => statement.text.includes(name)) ||
    (statement.text.includes('fetch_for_gateways') && hasOne())
      ? Promise.resolve([])
      : driver.query(statement, values),
})

/** What two workers do about one transfer whose request waits, so that its worker loses the job. */
export function heldRequests({ pool, driver, open, stopAll, commit, enqueue, forgetRequests }: TestHost) {
  return {
    /** A worker that has one transfer, and asks for the permission to send it when the test lets it. */
    async hesitate(unanswered: readonly string[] = []) {
      const inner = memoryGateway()
      const { gateway, counts, go } = hesitantGateway(inner)
      const slow = open({ gateway, driver: fetchingUntil(driver, () => counts.waiting > 0, unanswered) })
      await slow.start()
      const { id } = await enqueue(slow)
      await waitUntil(() => counts.waiting === 1)
      /** Lets it ask; gives how many requests had waited and those that were sent. */
      const outcome = async () => {
        go()
        await waitUntil(() => counts.asked > 0)
        await stopAll()
        return [counts.waiting, inner.submissions]
      }
      return { id, inner, outcome }
    },
    /** Another worker, whose service refuses the transfer for lack of funds and shows one like it. */
    openQuick(inner: Gateway): HostEngine {
      const at = new Date().toISOString()
      const alike = { remoteId: 'alike', status: 'processing', failure: null } as const
      const { amount, source, destination, note = null } = samplePayout('acme')
      const transfer = { ...alike, id: 'alike', amount, source, destination, note, createdAt: at, updatedAt: at }
      const list = async () => ({ observations: [{ ...alike, transfer }] as Observation[] })
      return open({ gateway: { ...inner, list, submit: async () => poor } })
    },
    /** A person compares with the service, which blocks the transfer, and releases it. */
    async reconcileAndRelease(quick: HostEngine, id: string, times = 1): Promise<StoredTransfer | undefined> {
      await pool.query('update outlay.transfer set expires_at = now()')
      await commit((tx) => quick.fence(tx))
      await quick.reconcile({ since: new Date(Date.now() - 60_000), acknowledge: true })
      const compared = await quick.transfers.get(id)
      await pool.query('update outlay.transfer set expires_at = null')
      for (let time = 0; time < times; time += 1) await commit((tx) => quick.transfers.release(tx, id))
      return compared
    },
    /** Starts the other worker, which finds out that nothing was paid, and cancels the transfer. */
    async refuseAndCancel(quick: HostEngine, id: string): Promise<void> {
      await quick.start()
      await reach(quick, id, { stage: 'awaiting_funds' }, 90_000)
      await forgetRequests()
      await commit((tx) => quick.transfers.cancel(tx, id))
    },
  }
}
