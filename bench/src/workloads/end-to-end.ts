import {
  type EndToEndHost,
  openOutlayEndToEnd,
  openPgBossEndToEnd,
  openRequestAlone,
} from '../contenders/end-to-end.ts'
import { openIdleService } from '../contenders/http-contender.ts'
import { openServiceStage } from '../contenders/service-stage.ts'
import type { Contender, Workload } from '../contest.ts'
import { inTransaction } from '../database.ts'
import { insertInvoice } from '../enqueue-host.ts'
import { measure, usageHere } from '../measurement.ts'

/** Host transactions at once. */
const writers = 8

/** Payouts that have been written and not answered: enough for every worker, and no backlog that only writers pay for. */
const underWay = 400

/** Requests under way at once. */
const inFlight = 100

const shapes = [
  { name: 'boss.work', options: {} },
  {
    name: 'boss.work 5×20',
    options: { localConcurrency: 5, batchSize: 20, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
  },
  {
    name: 'boss.work 100×1',
    options: { localConcurrency: 100, batchSize: 1, pollingIntervalSeconds: 0.5, burstWhenReadyExceeds: 1 },
  },
] as const

/** From the host's transaction to the service, over HTTP. */
export const endToEnd: Workload = {
  name: 'end-to-end',
  title: `One transfer that the service has answered with 201, while ${writers} writers keep ${underWay} on their way; host and worker in one process, the service in another.`,
  seconds: 10,
  async open(serverUrl) {
    const stage = await openServiceStage(serverUrl, {
      template: 'bench_end_to_end',
      accountCount: 20,
      transfersEach: 1,
    })
    const start = (name: string) => openIdleService(serverUrl, stage, { name, connections: inFlight })
    const hosts = [await openOutlayEndToEnd(serverUrl, await start('outlay'), stage, inFlight)]
    for (const shape of shapes) {
      hosts.push(await openPgBossEndToEnd(serverUrl, await start(shape.name), stage, shape))
    }
    hosts.push(await openRequestAlone(serverUrl, await start('request alone'), stage))
    const numbers = { next: stage.transferIds.length }
    return {
      contests: [
        {
          name: 'end to end',
          contenders: hosts.map((host) => contender(host, numbers)),
          ratios: [
            { of: 'outlay', to: shapes[0].name, aim: 3 },
            { of: 'outlay', to: shapes[1].name, aim: 1.3 },
            { of: 'outlay', to: shapes[2].name, aim: 1.3 },
            { of: 'request alone', to: shapes[1].name },
            { of: 'outlay', to: 'request alone' },
          ],
          references: {},
          // The worker with its defaults runs one job every two seconds.
          warmUpSeconds: 5,
        },
      ],
      close: async () => {
        for (const host of hosts) {
          await host.close()
          await host.service.close()
        }
        await stage.close()
      },
    }
  },
}

/** Counts what the service has while the writers write; at the end both sides have the same number of transfers. */
function contender(host: EndToEndHost, numbers: { next: number }): Contender {
  const { name, database, service } = host
  const countMade = () => service.database.count('select count(*) from outlay_service.transfer')
  let atFirst: number | undefined
  const places = openPlaces(underWay)
  host.onAnswer = places.give
  return {
    name,
    async round(seconds) {
      const before = await countMade()
      atFirst ??= before
      await host.start()
      const measurement = await measure(database.admin, usageHere(database.statements), async () => {
        places.open()
        const closing = setTimeout(places.close, seconds * 1000)
        const writer = async () => {
          while (await places.take()) await write(host, numbers.next++)
        }
        await Promise.all(Array.from({ length: writers }, writer)).finally(() => clearTimeout(closing))
        return { operations: (await countMade()) - before, latenciesMs: null }
      })
      await host.stop()
      const made = (await countMade()) - atFirst
      const sent = await host.countSent()
      if (made !== sent) throw new Error(`${name}: the service has ${made} transfers and the host knows of ${sent}.`)
      return measurement
    },
  }
}

/** So many places; who takes one waits for it, and gets none once they are closed. */
function openPlaces(count: number) {
  let free = count
  let isOpen = false
  const waiting: ((isTaken: boolean) => void)[] = []
  return {
    async take(): Promise<boolean> {
      if (!isOpen) return false
      if (free === 0) return new Promise<boolean>((resolve) => waiting.push(resolve))
      free -= 1
      return true
    },
    give() {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next(true)
    },
    open() {
      isOpen = true
    },
    close() {
      isOpen = false
      for (const next of waiting.splice(0)) next(false)
    },
  }
}

async function write({ database, send }: EndToEndHost, n: number): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    await client.query(insertInvoice(n))
    await send(client, n)
  })
}
