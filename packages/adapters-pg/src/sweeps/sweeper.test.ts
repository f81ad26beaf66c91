import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { type SweeperOptions, startSweeper } from './sweeper.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

it('walks a backlog page by page, each from where the last one ended, and forgets unused refusals only at the end', async () => {
  const backlog = Array.from({ length: 12_000 }, (_, n) => String(n).padStart(5, '0'))
  const checked: string[] = []
  const forgottenAt: number[] = []
  const attempts: Partial<SweeperOptions<unknown>['attempts']> = {
    unsubmittedAfter: async (id, limit) => backlog.filter((one) => one > id).slice(0, limit),
    makeDueReady: async () => false,
    ensureJobs: async (ids) => {
      checked.push(...ids)
      return 0
    },
  }
  const nothing = new Proxy({}, { get: () => async () => 0 })
  const credentials = new Proxy(
    { forgetUnused: async () => forgottenAt.push(checked.length) },
    { get: (own, name) => (name in own ? own.forgetUnused : async () => 0) },
  )
  const others = {
    ...{ transfers: nothing, credentials, polls: nothing, counterparties: nothing },
    ...{ expiredHolds: nothing, limits: nothing, audit: nothing },
  }
  const sweeper = startSweeper({
    attempts,
    ...others,
    guard: { isFamiliar: () => true },
    logger: silent,
  } as unknown as SweeperOptions<unknown>)
  await waitUntil(() => forgottenAt.length > 0)
  await sweeper.stop()
  expect(checked).toEqual(backlog)
  expect(forgottenAt).toEqual([12_000])
})
