import { describe, expect, it } from 'vitest'
import type { FollowedTransfer } from '../ports/backend.ts'
import type { Gateway, Observation } from '../ports/gateway.ts'
import { decideChange, followTransfers } from './following.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const signal = new AbortController().signal
const seen = (index: number): Observation => ({ remoteId: `r${index}`, status: 'processing', failure: null })
const followed = (index: number): FollowedTransfer => ({
  transferId: `t${index}`,
  accountId: 'acme',
  remoteId: `r${index}`,
  status: 'pending',
  transferType: 'base',
  looks: 0,
})
const range = (length: number) => Array.from({ length }, (_, index) => index)

/** A gateway with a number of transfers, newest first, that counts its requests. */
function counting(total: number, hidden: ReadonlySet<number> = new Set()) {
  const requests = { get: 0, list: 0 }
  const all = range(total).filter((index) => !hidden.has(index))
  const gateway: Gateway = {
    submit: () => Promise.reject(new Error('not here')),
    async get(_accountId, remoteId) {
      requests.get += 1
      const index = Number(remoteId.slice(1))
      if (index >= total) throw new Error('not now')
      return seen(index)
    },
    async list(_accountId, { cursor = '0', limit }) {
      requests.list += 1
      const from = Number(cursor)
      const next = from + limit < all.length ? String(from + limit) : undefined
      return { observations: all.slice(from, from + limit).map(seen), ...(next === undefined ? {} : { next }) }
    },
  }
  return { gateway, requests }
}

describe('a look at submitted transfers', () => {
  it('reads few one by one', async () => {
    const { gateway, requests } = counting(9)
    const observations = await followTransfers(gateway, silent, 'acme', range(9).map(followed), signal)
    expect(observations.map(({ remoteId }) => remoteId).toSorted()).toEqual(range(9).map((index) => `r${index}`))
    expect(requests).toEqual({ get: 9, list: 0 })
  })

  it('reads many by pages, and those that the pages lack one by one', async () => {
    const { gateway, requests } = counting(450, new Set([7]))
    const observations = await followTransfers(gateway, silent, 'acme', range(450).map(followed), signal)
    expect(observations).toHaveLength(450)
    expect(requests).toEqual({ get: 1, list: 5 })
  })

  it('stops paging as soon as it has met all', async () => {
    const { gateway, requests } = counting(5_000)
    await followTransfers(gateway, silent, 'acme', range(150).map(followed), signal)
    expect(requests).toEqual({ get: 0, list: 2 })
  })

  it('leaves out what cannot be read now', async () => {
    const { gateway } = counting(3)
    const observations = await followTransfers(gateway, silent, 'acme', [followed(1), followed(99)], signal)
    expect(observations).toEqual([seen(1)])
  })
})

describe('an observation', () => {
  const current = { stage: 'submitted', status: 'processing', failure: null } as const
  it('settles a transfer whose status is final, with one event', () => {
    expect(decideChange(current, { remoteId: 'r', status: 'complete', failure: null })).toEqual({
      stage: 'settled',
      status: 'complete',
      failure: null,
      events: [{ type: 'transfer.completed' }],
    })
  })

  it('changes nothing when it is old or the same', () => {
    expect(decideChange(current, { remoteId: 'r', status: 'pending', failure: null })).toBeUndefined()
    expect(decideChange(current, { remoteId: 'r', status: 'processing', failure: null })).toBeUndefined()
    const complete = { stage: 'settled', status: 'complete', failure: null } as const
    expect(decideChange(complete, { remoteId: 'r', status: 'canceled', failure: null })).toBeUndefined()
  })
})
