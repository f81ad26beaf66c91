import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { type Messenger, openOutlayMessenger } from '../contenders/pick-up.ts'
import type { Contender, Workload } from '../contest.ts'
import { messengerContender, sendSteadily } from './pick-up.ts'

/** Transfers that are enqueued and dispatched a second, all the while. */
const perSecond = 300

const names = { without: 'no reader', held: 'a reader holds a snapshot', after: 'after it let go' } as const

/** A session that keeps an old snapshot, so that vacuum cannot remove rows deleted since. */
export const snapshot: Workload = {
  name: 'snapshot',
  title: `One transfer at ${perSecond} a second, from its commit until the worker makes its request; a round is as long as the snapshot is held.`,
  seconds: 30,
  async open(serverUrl) {
    const messengers = {
      without: await openOutlayMessenger(serverUrl, names.without),
      held: await openOutlayMessenger(serverUrl, names.held),
      after: await openOutlayMessenger(serverUrl, names.after),
    }
    const numbers = { next: 1 }
    const steady = (messenger: Messenger) =>
      messengerContender(messenger, (seconds) => sendSteadily(messenger, numbers, perSecond, seconds))
    return {
      contests: [
        {
          name: 'snapshot',
          contenders: [
            afterVacuum(messengers.without, steady(messengers.without)),
            afterVacuum(messengers.held, withSnapshot(messengers.held, steady(messengers.held))),
            afterSnapshot(messengers.after, steady(messengers.after)),
          ],
          ratios: [
            { of: names.held, to: names.without, figure: 'per second', aim: 0.9 },
            { of: names.after, to: names.without, figure: 'per second', aim: 0.9 },
            { of: names.held, to: names.without },
            { of: names.held, to: names.without, figure: 'p99 ms' },
            { of: names.held, to: names.without, figure: 'server µs' },
            { of: names.after, to: names.without },
            { of: names.after, to: names.without, figure: 'server µs' },
          ],
          references: {},
          figure: 'p50 ms',
          warmUpSeconds: 1,
        },
      ],
      close: async () => {
        for (const messenger of Object.values(messengers)) await messenger.close()
      },
    }
  },
}

/** Each turn starts without the dead rows of the previous one. */
function afterVacuum({ database }: Messenger, contender: Contender): Contender {
  return {
    name: contender.name,
    async round(seconds) {
      await database.admin.query('vacuum analyze')
      return contender.round(seconds)
    },
  }
}

/** The contender while a reader holds an older snapshot. */
function withSnapshot({ database }: Messenger, contender: Contender): Contender {
  return {
    name: contender.name,
    async round(seconds) {
      const reader = new Client({ connectionString: database.url })
      await reader.connect()
      await reader.query('begin isolation level repeatable read')
      const count = async () =>
        String((await reader.query<{ count: string }>('select count(*) from outlay.transfer')).rows[0]?.count)
      const before = await count()
      try {
        const measurement = await contender.round(seconds)
        if ((await count()) !== before) throw new Error('The reader lost its snapshot.')
        return measurement
      } finally {
        await reader.end()
      }
    },
  }
}

/** The contender when a reader has held a snapshot for as long, and autovacuum had its nap of a minute at most. */
function afterSnapshot(messenger: Messenger, contender: Contender): Contender {
  const held = withSnapshot(messenger, contender)
  return afterVacuum(messenger, {
    name: contender.name,
    async round(seconds) {
      await held.round(seconds)
      await sleep(napSeconds(seconds) * 1000)
      return contender.round(seconds)
    },
  })
}

/** Autovacuum visits a database once a minute by default; a warm-up does not wait for it. */
const napSeconds = (seconds: number) => (seconds < 10 ? 0 : 60)
