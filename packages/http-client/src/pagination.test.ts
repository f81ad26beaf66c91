import { expect, test } from 'vitest'
import { scriptedExchange } from '../test/scripted-exchange.ts'
import { answer } from '../test/scripted-server.ts'
import { decodePage, iteratePages, type UnreadableRow } from './pagination.ts'
import { unreadable } from './wire/json.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const exchange = scriptedExchange()

const decode = (row: unknown): number => {
  if (typeof row === 'number') return row
  throw unreadable('amount', 'a number')
}

test('a row that cannot be read is reported beside the others, with its place and its JSON', () => {
  const page = decodePage({ rows: [1, 'two', 3], pagination: { next: 'n' } }, 'rows', decode)
  expect(page).toEqual({
    items: [1, 3],
    unreadable: [{ index: 1, field: 'amount', reason: 'amount is not a number' }],
    next: 'n',
    previous: undefined,
  })
  expect(page.unreadable[0]?.raw).toBe('two')
  expect(JSON.stringify(page)).not.toContain('two')
})

test('an answer that is not a list is no empty page', () => {
  for (const body of [{}, { rows: null }, 'rows', null, { rows: {} }])
    expect(() => decodePage(body, ['rows', 'lines'], decode)).toThrow('rows is not a list')
  expect(decodePage({ lines: [1] }, ['rows', 'lines'], decode).items).toEqual([1])
})

test('a mistake of the reader is not a row that cannot be read', () => {
  const read = () => decodePage([1], 'rows', () => JSON.parse('{'))
  expect(read).toThrow(SyntaxError)
})

const pages = [{ rows: [1, 'two'], pagination: { next: 'second' } }, { rows: ['three', 4] }].map((body) =>
  decodePage(body, 'rows', decode),
)

const walk = (onUnreadable?: (row: UnreadableRow) => void) =>
  iteratePages(
    async (after) => (after === undefined ? pages[0] : pages[1]) as (typeof pages)[0] & object,
    undefined,
    onUnreadable,
  )

test('a walk gives the rows of all pages, and then says that some were missing', async () => {
  const items: number[] = []
  const walked = (async () => {
    for await (const item of walk()) items.push(item)
  })()
  await expect(walked).rejects.toMatchObject({
    code: 'unreadable_response',
    field: 'amount',
    issues: [{ message: 'amount is not a number' }, { message: 'amount is not a number' }],
  })
  expect(items).toEqual([1, 4])
})

test('a walk with onUnreadable gives it the others, and ends like any other', async () => {
  const seen: unknown[] = []
  for await (const item of walk(({ index }) => seen.push(`unreadable ${index}`))) seen.push(item)
  expect(seen).toEqual(['unreadable 1', 1, 'unreadable 0', 4])
})

test('a walk goes on behind an empty page that has a cursor', async () => {
  const bodies: Readonly<Record<string, unknown>> = {
    start: { rows: [], pagination: { next: 'second', prev: null } },
    second: { rows: [], pagination: { next: 'third' } },
    third: { rows: [3], pagination: { next: null } },
  }
  const items: number[] = []
  for await (const item of iteratePages(async (after = 'start') => decodePage(bodies[after], 'rows', decode)))
    items.push(item)
  expect(items).toEqual([3])
})

test('lists that are not paged have the rows beside them', async () => {
  const webhook = { id: 'w', url: 'https://example.com/hook' }
  exchange.server.script(
    answer(200, { accounts: ['a', {}, { id: 'b' }] }),
    answer(200, { subscriptions: [{ id: 'no url' }, webhook] }),
    answer(200, { balances: [{ value_type: 'USDC' }] }),
  )
  const accounts = await exchange.client.accounts.list(accountId)
  expect([[...accounts], accounts.unreadable]).toEqual([['a', 'b'], [expect.objectContaining({ index: 1 })]])
  const webhooks = await exchange.client.webhooks.list(accountId)
  expect([webhooks.map(({ id }) => id), webhooks.unreadable]).toEqual([
    ['w'],
    [expect.objectContaining({ index: 0, field: 'url' })],
  ])
  const balances = await exchange.client.balances.list(accountId)
  expect([[...balances], balances.unreadable.length]).toEqual([[], 1])
})
