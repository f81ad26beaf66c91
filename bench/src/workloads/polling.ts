import { setTimeout as sleep } from 'node:timers/promises'
import type { EnqueueRequest } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { type OutlayStage, openOutlayStage } from '../contenders/outlay-stage.ts'
import { polledService } from '../contenders/polled-service.ts'
import type { Contender, Workload } from '../contest.ts'
import { measure, usageHere } from '../measurement.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { quantile } from '../spread.ts'

/** Accounts that the transfers are spread over. */
const accounts = 10

/** Transfers complete that long after they were accepted, evenly spread; 30 seconds are usual on Base. */
const earliestMs = 10_000
const latestMs = 40_000

/** The length of a turn that only warms up. */
const warmUpSeconds = 0.1

const names = { lists: 'list sweeps', single: 'one by one' } as const
const each = 'each transfer'
const figures = {
  requests: 'requests per transfer',
  pages: 'pages per transfer',
  p50: 'noticed late p50 s',
  last: 'noticed late, the last, s',
} as const

/** Statuses of many transfers without webhooks. */
export const polling: Workload = {
  name: 'polling',
  title:
    'One transfer on Base, from its submission until its completion is noticed, without webhooks; a turn lasts until the last one is.',
  seconds: 1,
  size: 5_000,
  async open(serverUrl, size) {
    const stages = {
      lists: await openOutlayStage(serverUrl, 'bench_polling_lists', 20),
      single: await openOutlayStage(serverUrl, 'bench_polling_single', 20),
    }
    return {
      contests: [
        {
          name: `polling, ${size.toLocaleString('en')} in flight`,
          contenders: [
            contender(names.lists, stages.lists, size, true),
            contender(names.single, stages.single, size, false),
          ],
          ratios: [
            { of: names.lists, to: each, atMost: 0.05 },
            { of: names.lists, to: names.single },
            { of: names.lists, to: names.single, figure: figures.last },
          ],
          references: { [each]: 1 },
          figure: figures.requests,
          warmUpSeconds,
        },
      ],
      close: async () => {
        for (const stage of Object.values(stages)) await stage.close()
      },
    }
  },
}

/** Whether any transfer has no end yet, by the indexes of those: a count of all that have would be most of the server's time. */
const open = `select count(*) from (
  (select 1 from outlay.transfer where remote_id is null and status = 'pending' limit 1)
  union all (select 1 from outlay.transfer where next_poll_at is not null limit 1)) t`

function contender(name: string, stage: OutlayStage, size: number, lists: boolean): Contender {
  const { database } = stage
  return {
    name,
    async round(seconds) {
      const isWarmUp = seconds === warmUpSeconds
      const count = isWarmUp ? Math.ceil(size / 100) : size
      await stage.empty()
      await stage.fill(Array.from({ length: count }, (_, n) => onBase(n)))
      await database.admin.query('vacuum analyze')
      const range = latestMs - earliestMs
      // A step that shares no divisor with the count spreads neighbours apart.
      const service = polledService(
        (n) => (isWarmUp ? 0 : earliestMs + Math.floor((((n * 7919) % count) / count) * range)),
        lists,
      )
      const engine = stage.makeEngine(service.gateway)
      return await measure(database.admin, usageHere(database.statements), async () => {
        await engine.start()
        const haveEnded = async () => {
          await sleep(isWarmUp ? 10 : 500)
          return (await database.count(open)) === 0
        }
        await waitUntil(haveEnded, { timeoutMs: 1_800_000, describe: `${name}: every transfer to be noticed` })
        await engine.stop()
        const { pages, reads } = service.requests()
        const lateMs = await measureLateness(stage, service.completesAt, count)
        return {
          operations: count,
          latenciesMs: null,
          figures: {
            [figures.requests]: (pages + reads) / count,
            [figures.pages]: pages / count,
            [figures.p50]: quantile(lateMs, 0.5) / 1000,
            [figures.last]: quantile(lateMs, 1) / 1000,
          },
        }
      })
    },
  }
}

function onBase(n: number): EnqueueRequest {
  const transfer = sampleTransfer(n)
  return {
    ...transfer,
    accountId: `01K8ACCT00000000000000${String(n % accounts).padStart(3, '0')}`,
    destination: { addressId: transfer.destination.addressId ?? '', valueType: 'USDC', transferType: 'base' },
  } as EnqueueRequest
}

/** From a transfer's completion to the event that says so, which there is once for each. */
async function measureLateness(
  { database }: OutlayStage,
  completesAt: (idempotencyKey: string) => number | undefined,
  count: number,
): Promise<readonly number[]> {
  const { rows } = await database.admin.query<{ submission_key: string; occurred_ms: string }>(
    `select t.submission_key, extract(epoch from e.occurred_at) * 1000 as occurred_ms
     from outlay.event e join outlay.transfer t on t.id = e.transfer_id where e.type = 'transfer.completed'`,
  )
  if (rows.length !== count) throw new Error(`${count} transfers have ${rows.length} events of completion.`)
  return rows.map((row) => Number(row.occurred_ms) - (completesAt(row.submission_key) ?? Number.NaN))
}
