import { expect, it } from 'vitest'
import type { UnconfirmedTransfer } from '../ports/operations.ts'
import type { Transfer } from '../transfer.ts'
import { type MatchRules, matchElsewhere, matchTransfers, type UnmatchedTransfer } from './reconciliation-matching.ts'

const day = 86_400_000
const nowMs = Date.parse('2026-03-02T00:00:00Z')
const rules: MatchRules = {
  given: new Map(),
  keyLifetimeMs: 20 * day,
  uniqueNotes: false,
  fencedAtMs: nowMs,
  nowMs,
}
const numbers = Array.from({ length: 20_000 }, (_, index) => index)

function requestOf(index: number, value: string) {
  return {
    amount: { value, currency: 'USD' },
    source: { addressId: 'wallet', valueType: 'USD', transferType: 'wire' },
    destination: { addressId: `payee-${index}`, valueType: 'USD', transferType: 'wire' },
  }
}

const rows = numbers.map(
  (index) =>
    ({
      ...{ id: `row-${index}`, stage: 'queued', createdAt: '2026-03-01T00:00:00Z', notBefore: null },
      ...{ firstRequestAgeMs: 30 * day, isExpired: false, isEnded: false, request: requestOf(index, `${index + 1}`) },
    }) as UnconfirmedTransfer,
)

/** Transfers of the service, and how often one of them was read. */
function shown(change: (index: number) => Partial<Transfer>) {
  const counted = { reads: 0 }
  const remotes = numbers.map((index): UnmatchedTransfer => {
    const transfer = { status: 'complete', createdAt: '2026-03-01T01:00:00Z', ...change(index) } as Transfer
    return {
      remoteId: `remote-${index}`,
      get transfer() {
        counted.reads += 1
        return transfer
      },
    }
  })
  return { remotes, counted }
}

const likenesses = numbers.map((index) => `row-${index} remote-${index}`).join()
const name = (likes: ReturnType<typeof matchElsewhere>) =>
  likes.map(({ row, remotes }) => [row.id, ...remotes.map(({ remoteId }) => remoteId).sort()].join(' '))

it.each([
  ['the amounts that were asked for', (index: number) => requestOf(index, `${index + 1}`)],
  ['other amounts, which were paid', (index: number) => requestOf(index, `${index + 1}.5`)],
])('each transfer is compared with few rows where 20,000 of both show %s', (_, change) => {
  const elsewhere = shown(change)
  expect(name(matchElsewhere(rows, elsewhere.remotes, rules)).join() === likenesses).toBe(true)
  expect(elsewhere.counted.reads).toBeLessThan(numbers.length * 12)
  const here = shown(change)
  expect(name(matchTransfers(rows, here.remotes, rules).blocked).join() === likenesses).toBe(true)
  expect(here.counted.reads).toBeLessThan(numbers.length * 12)
})

it('a transfer that does not say whom it paid, and a row whose payee has no id there, are like all others', () => {
  const { remotes } = shown((index) => {
    const { destination, ...rest } = requestOf(index % 2, '5')
    return {
      ...rest,
      destination: index === 0 ? { ...destination, addressId: undefined } : destination,
    } as Partial<Transfer>
  })
  const [first, second] = rows.map((row, index) => ({ ...row, request: requestOf(index, '5.00') }))
  if (first === undefined || second === undefined) throw new Error('There are rows.')
  const { destination, ...rest } = second.request
  const address = { fingerprint: 'f' }
  const inFull = { ...second, request: { ...rest, destination: { ...destination, address } } } as UnconfirmedTransfer
  const found = matchElsewhere([first, second, inFull], remotes.slice(0, 4), rules)
  expect(name(found)).toEqual([
    'row-0 remote-0 remote-2',
    'row-1 remote-0 remote-1 remote-3',
    'row-1 remote-0 remote-1 remote-2 remote-3',
  ])
})
