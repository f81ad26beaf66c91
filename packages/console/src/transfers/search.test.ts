import { OutlayError, type StoredTransfer, type TransferPage } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import type { ConsoleContext } from '../context.ts'
import { collectTransfers, findTransfers } from './search.ts'

const idOf = (ms: number, last: string): string => `01K8ACC${ms.toString().padStart(3, '0')}${last.padStart(16, '0')}`

/** An engine whose search gives these pages, by account, whatever is asked for. */
function contextOf(pages: Readonly<Record<string, TransferPage>>) {
  const asked: unknown[] = []
  const find = async (query: { readonly accountId?: string }) => {
    asked.push(query)
    return pages[query.accountId ?? 'all'] ?? { transfers: [], nextCursor: null }
  }
  return { context: { reads: { transfers: { find } } } as unknown as ConsoleContext, asked }
}

const page = (ids: readonly string[], nextCursor: string | null): TransferPage => ({
  transfers: ids.map((id) => ({ id }) as StoredTransfer),
  nextCursor,
})
const { signal } = new AbortController()
const idsOf = ({ transfers }: { readonly transfers: readonly StoredTransfer[] }) => transfers.map(({ id }) => id)

describe('a search of a person', () => {
  it('does not give the id of the transfer at which it stopped, and skips nothing behind it', async () => {
    const stopped = idOf(5, 'F')
    const { context } = contextOf({ acme: page([idOf(9, 'A')], stopped) })
    const { nextCursor } = await findTransfers(context, ['acme'], {}, { limit: 50, signal })
    expect(nextCursor).not.toBe(stopped)
    expect((nextCursor ?? '') > stopped).toBe(true)
    expect((nextCursor ?? '') < idOf(6, '0')).toBe(true)
  })

  it('does not give a transfer again that is in the millisecond at which it stopped', async () => {
    const own = idOf(5, 'H')
    const { context } = contextOf({ acme: page([own], idOf(5, 'F')) })
    expect((await findTransfers(context, ['acme'], {}, { limit: 50, signal })).nextCursor).toBe(own)
  })

  it('goes on where all that was read is of one millisecond', async () => {
    const { context } = contextOf({ acme: page([], idOf(5, 'F')) })
    const first = await findTransfers(context, ['acme'], {}, { limit: 50, signal })
    const second = await findTransfers(
      context,
      ['acme'],
      {},
      { limit: 50, cursor: first.nextCursor ?? undefined, signal },
    )
    expect(second.nextCursor).toBe(idOf(5, 'F'))
  })

  it('merges accounts, and keeps what is behind the place that one of them has not reached', async () => {
    const { context, asked } = contextOf({
      acme: page([idOf(9, 'A'), idOf(7, 'A')], idOf(6, 'F')),
      bolt: page([idOf(8, 'B'), idOf(3, 'B')], null),
    })
    const found = await findTransfers(context, ['acme', 'bolt'], { stage: 'queued' }, { limit: 50, signal })
    expect(idsOf(found)).toEqual([idOf(9, 'A'), idOf(8, 'B'), idOf(7, 'A')])
    expect(found.nextCursor).toMatch(/^01K8ACC006Z/)
    expect(asked).toEqual(['acme', 'bolt'].map((accountId) => ({ stage: 'queued', accountId, limit: 50 })))
  })

  it('cuts a page at its limit, and goes on behind its last transfer', async () => {
    const { context } = contextOf({
      acme: page([idOf(9, 'A')], null),
      bolt: page([idOf(8, 'B'), idOf(3, 'B')], null),
    })
    const found = await findTransfers(context, ['acme', 'bolt'], {}, { limit: 2, signal })
    expect([idsOf(found), found.nextCursor]).toEqual([[idOf(9, 'A'), idOf(8, 'B')], idOf(8, 'B')])
  })

  it('ends between two reads when nobody waits for it any more', async () => {
    const leaving = new AbortController()
    const { context, asked } = contextOf({ acme: page([], idOf(5, 'F')) })
    const { find } = context.reads.transfers
    const leave = async (query: object) => {
      leaving.abort()
      return find(query)
    }
    const left = { ...context, reads: { transfers: { find: leave } } } as unknown as ConsoleContext
    const bounds = { most: 10, limit: 10, signal: leaving.signal }
    await expect(findTransfers(left, ['acme', 'bolt'], {}, bounds)).rejects.toThrow('aborted')
    expect(asked).toHaveLength(1)
    await expect(collectTransfers(left, 'all', {}, bounds)).rejects.toThrow('aborted')
    expect(asked).toHaveLength(1)
  })

  it('refuses an unknown currency only where no account has a transfer in it', async () => {
    const refusal = new OutlayError('unknown_value_type', 'is not in the catalog')
    const find = async ({ accountId }: { readonly accountId?: string }) => {
      if (accountId === 'acme') throw refusal
      return page([idOf(9, 'A')], null)
    }
    const context = { reads: { transfers: { find } } } as unknown as ConsoleContext
    const bounds = { most: 10, limit: 10, signal }
    for (const search of [findTransfers, collectTransfers]) {
      await expect(search(context, ['acme'], { currency: 'EURO' }, bounds)).rejects.toBe(refusal)
      await expect(search(context, ['acme', 'bolt'], { currency: 'EURO' }, bounds)).resolves.toBeDefined()
    }
  })

  it('asks for one account where there are too many, and ends where a filter is too wide', async () => {
    const { context } = contextOf({ all: page([], idOf(5, 'F')) })
    const many = Array.from({ length: 51 }, (_, at) => `account-${at}`)
    await expect(findTransfers(context, many, {}, { limit: 2, signal })).rejects.toMatchObject({ field: '?accountId' })
    await expect(findTransfers(context, ['acme'], { accountId: 'bolt' }, { limit: 2, signal })).rejects.toMatchObject({
      code: 'not_found',
    })
    await expect(collectTransfers(context, 'all', {}, { most: 10, signal })).rejects.toMatchObject({ status: 422 })
  })
})
