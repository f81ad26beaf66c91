import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '@outlay/testing'
import { type Arrivals, createArrivals } from '../arrivals.ts'
import { type Messenger, openGraphileMessenger, openOutlayMessenger, openPing } from '../contenders/pick-up.ts'
import type { Contender, Contest, Workload } from '../contest.ts'
import { inTransaction } from '../database.ts'
import { insertInvoice } from '../enqueue-host.ts'
import { measure, usageHere } from '../measurement.ts'

/** Host transactions a second of the steady contest. */
const steadyPerSecond = 300

/** Longest pause between an arrival and the next commit while it is idle, in milliseconds. */
const longestPauseMs = 60

/** From a host's commit until its request arrives at the service. */
export const pickUp: Workload = {
  name: 'pick-up',
  title:
    'One host transaction: the latency runs from when it sends its commit until the worker makes its request, host and worker in one process.',
  seconds: 5,
  async open(serverUrl) {
    const messengers = [
      await openOutlayMessenger(serverUrl),
      await openPing(serverUrl),
      await openGraphileMessenger(serverUrl),
    ]
    const numbers = { next: 1 }
    return {
      contests: [
        contest('pick-up, idle', messengers, 2, (messenger, seconds) => sendOneByOne(messenger, numbers, seconds)),
        contest(`pick-up, ${steadyPerSecond} a second`, messengers, 4, (messenger, seconds) =>
          sendSteadily(messenger, numbers, steadyPerSecond, seconds),
        ),
      ],
      close: async () => {
        for (const messenger of messengers) await messenger.close()
      },
    }
  },
}

type Send = (messenger: Messenger, seconds: number) => (arrivals: Arrivals) => Promise<number>

function contest(name: string, messengers: readonly Messenger[], mostPings: number, send: Send): Contest {
  return {
    name,
    contenders: messengers.map((messenger) => messengerContender(messenger, (seconds) => send(messenger, seconds))),
    ratios: [
      { of: 'outlay', to: 'LISTEN/NOTIFY ping', atMost: mostPings },
      { of: 'outlay', to: 'outlay', figure: 'p99 ms', toFigure: 'p50 ms', atMost: 3 },
      { of: 'outlay', to: 'graphile-worker', atMost: 1 },
    ],
    references: {},
    figure: 'p50 ms',
    warmUpSeconds: 1,
  }
}

/** Makes a contender of a messenger. After each turn everything that was sent has arrived once and is done. */
export function messengerContender(
  messenger: Messenger,
  send: (seconds: number) => (arrivals: Arrivals) => Promise<number>,
): Contender {
  const { name, database } = messenger
  return {
    name,
    async round(seconds) {
      const arrivals = createArrivals()
      await messenger.start((n) => arrivals.arrive(n))
      const measurement = await measure(database.admin, usageHere(database.statements), async () => {
        const operations = await send(seconds)(arrivals)
        await waitUntil(() => arrivals.count() >= operations, { describe: `${name}: every message to arrive` })
        return { operations, latenciesMs: arrivals.latenciesMs() }
      })
      await waitUntil(async () => (await messenger.countOpen()) === 0, { describe: `${name}: nothing to be left` })
      await messenger.stop()
      if (arrivals.count() !== measurement.operations) {
        throw new Error(`${name}: ${measurement.operations} were sent and ${arrivals.count()} arrived.`)
      }
      return measurement
    },
  }
}

/** Commits one, waits for its arrival, pauses for some time, and so on. */
function sendOneByOne(messenger: Messenger, numbers: { next: number }, seconds: number) {
  return async (arrivals: Arrivals) => {
    const endsAt = performance.now() + seconds * 1000
    let sent = 0
    for (; performance.now() < endsAt; sent += 1) {
      const n = numbers.next++
      await transact(messenger, n, arrivals)
      await arrivals.arrived(n)
      // Not in step with any polling.
      await sleep(10 + ((sent * 37) % (longestPauseMs - 10)))
    }
    return sent
  }
}

/** Begins transactions at a steady rate, whether or not earlier ones have ended. */
export function sendSteadily(messenger: Messenger, numbers: { next: number }, perSecond: number, seconds: number) {
  return async (arrivals: Arrivals) => {
    const from = performance.now()
    const underWay: Promise<void>[] = []
    while (performance.now() < from + seconds * 1000) {
      const due = Math.floor(((performance.now() - from) / 1000) * perSecond)
      while (underWay.length < due) underWay.push(transact(messenger, numbers.next++, arrivals))
      await sleep(1)
    }
    await Promise.all(underWay)
    return underWay.length
  }
}

async function transact({ database, send }: Messenger, n: number, arrivals: Arrivals): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    await client.query(insertInvoice(n))
    await send(client, n)
    arrivals.commit(n)
  })
}
