import type { Exchange, HostLine, ServiceLine } from '../src/history.ts'
import { balance, create, type Draft, effect, entry, intent, notice } from './small-history.ts'

const drop = <T>(lines: T[], is: (line: T) => boolean): void => {
  const kept = lines.filter((line) => !is(line))
  if (kept.length === lines.length) throw new Error('There is nothing to drop.')
  lines.splice(0, lines.length, ...kept)
}

export const change = <T>(lines: T[], is: (line: T) => boolean, to: Partial<Record<string, unknown>>): void => {
  const place = lines.findIndex(is)
  if (place < 0) throw new Error('There is nothing to change.')
  lines[place] = { ...lines[place], ...to } as T
}

const isIntent = (id: string) => (line: HostLine) => line.kind === 'intent' && line.id === id
const isNotice = (id: string, type: string, subscription?: string) => (line: HostLine) =>
  line.kind === 'notice' &&
  line.intent === id &&
  line.type === type &&
  (subscription ?? line.subscription) === line.subscription
const isEffect = (id: string) => (line: ServiceLine) => line.kind === 'transfer' && line.id === `effect-${id}`
export const isSent = (id: string) => (line: Exchange) => line.key === `key-${id}`
const isBalance = (line: ServiceLine) => line.kind === 'balance' && line.last

const body = (id: string, more: object) => JSON.stringify({ ...JSON.parse(create(id, 0).body ?? ''), ...more })

/** The defect, the rule that finds it, the payout that is named, and how the history is doctored. */
export const defects: readonly (readonly [
  what: string,
  rule: string,
  payout: string,
  doctor: (draft: Draft) => void,
])[] = [
  ['a payout is lost', 'lost', 'payout z', ({ host }) => void host.push(intent('z', 1_200))],
  [
    'an answered commit is gone',
    'lost',
    'payout a',
    (draft) => {
      drop(draft.host, (line) => isIntent('a')(line) || (line.kind === 'notice' && line.intent === 'a'))
      drop(draft.exchanges, isSent('a'))
      drop(draft.service, isEffect('a'))
    },
  ],
  [
    'a payout was paid twice',
    'twice',
    'payout a',
    ({ service }) => void service.push(effect('a', { id: 'effect-a2' })),
  ],
  ['an effect after a rollback', 'effect_without_intent', 'payout x', ({ service }) => void service.push(effect('x'))],
  [
    'a request that nobody asked for',
    'request_without_intent',
    'payout x',
    ({ exchanges }) => void exchanges.push(create('x', 1_200)),
  ],
  [
    'a rolled back payout is there',
    'rolled_back_and_there',
    'payout d',
    ({ host }) => void host.push({ kind: 'withdrawn', at: 0, reference: 'payout d' }),
  ],
  [
    'a wrong amount',
    'wrong_effect',
    'payout a',
    ({ service }) => change(service, isEffect('a'), { amount: { value: '10.51', currency: 'USDC' } }),
  ],
  [
    'a wrong currency',
    'wrong_effect',
    'payout a',
    ({ service }) => change(service, isEffect('a'), { amount: { value: '10.5', currency: 'USD' } }),
  ],
  [
    'a wrong destination',
    'wrong_effect',
    'payout a',
    ({ service }) =>
      change(service, isEffect('a'), { destination: { address: 'payee-2', valueType: 'USDC', transferType: 'base' } }),
  ],
  [
    'a wrong source',
    'wrong_effect',
    'payout a',
    ({ service }) =>
      change(service, isEffect('a'), { source: { address: 'wallet-2', valueType: 'USDC', transferType: 'base' } }),
  ],
  [
    'a wrong account',
    'wrong_effect',
    'payout a',
    ({ service }) => change(service, isEffect('a'), { account: 'account-2' }),
  ],
  [
    'a counterparty that is not the one given',
    'wrong_effect',
    'payout a',
    ({ host }) =>
      change(host, isIntent('a'), { destination: { payee: '0xada', valueType: 'USDC', transferType: 'base' } }),
  ],
  [
    'a wrong request',
    'wrong_request',
    'payout c',
    ({ exchanges }) =>
      change(exchanges, isSent('c'), { body: body('c', { amount: { value: '1', currency: 'USDC' } }) }),
  ],
  [
    'a failed payout moved money',
    'ended_and_moved',
    'payout c',
    ({ service }) => change(service, isEffect('c'), { status: 'complete' }),
  ],
  [
    'a canceled payout moves money',
    'ended_and_moved',
    'payout d',
    ({ service }) => void service.push(effect('d', { status: 'processing' })),
  ],
  [
    'a completed payout has no effect',
    'completed_without_effect',
    'payout a',
    ({ service }) => drop(service, isEffect('a')),
  ],
  [
    'a completed payout names another effect',
    'completed_without_effect',
    'payout a',
    ({ host }) => change(host, isNotice('a', 'transfer.completed'), { remote: 'effect-c' }),
  ],
  [
    'the host was never notified',
    'not_notified',
    'payout a',
    ({ host }) => drop(host, isNotice('a', 'transfer.completed')),
  ],
  [
    'a transfer that never ends',
    'stuck',
    'payout a',
    (draft) => {
      drop(draft.host, isNotice('a', 'transfer.completed'))
      change(draft.service, isEffect('a'), { status: 'processing' })
    },
  ],
  [
    'an unknown outcome was counted as a failure',
    'guessed',
    'payout b',
    ({ exchanges }) => change(exchanges, isSent('b'), { status: 502, answer: '<html>' }),
  ],
  [
    "a proxy's page was counted as a refusal",
    'guessed',
    'payout b',
    ({ exchanges }) => change(exchanges, isSent('b'), { status: 404, answer: '<html>' }),
  ],
  [
    'a payout failed and nobody refused it',
    'failed_without_refusal',
    'payout b',
    ({ exchanges }) => drop(exchanges, isSent('b')),
  ],
  [
    'a payout was made again twice',
    'repeated_twice',
    'payout b',
    ({ host }) => {
      for (const id of ['b2', 'b3']) host.push(intent(id, 5_000, { reference: 'payout b', repeats: 'b' }))
    },
  ],
  ['a key is missing', 'no_key', 'payout c', ({ exchanges }) => change(exchanges, isSent('c'), { key: undefined })],
  [
    'a new key for an attempt',
    'two_keys',
    'payout a',
    ({ exchanges }) => void exchanges.push(create('a', 2_200, { key: 'key-a-2' })),
  ],
  [
    'a key for two requests',
    'key_reused',
    'payout b',
    ({ exchanges }) => change(exchanges, isSent('c'), { key: 'key-b' }),
  ],
  [
    'a key on a read',
    'key_on_a_read',
    '/accounts/account-1/transfers/effect-a',
    ({ exchanges }) => change(exchanges, ({ method }) => method === 'GET', { key: 'k' }),
  ],
  [
    'a key that the service has forgotten',
    'key_too_old',
    'payout a',
    ({ exchanges }) => void exchanges.push(create('a', 1_100 + 31 * 86_400_000)),
  ],
  [
    'a key of two clients',
    'key_of_two_clients',
    'payout a',
    ({ exchanges, host }) => {
      host.push({ kind: 'tenant', at: 0, account: 'account-1', client: 'client-3' })
      exchanges.push(create('a', 2_200, { client: 'client-3' }))
    },
  ],
  [
    "another tenant's credentials",
    'another_tenant',
    'payout c',
    ({ exchanges }) => change(exchanges, isSent('c'), { client: 'client-2' }),
  ],
  [
    'a request before the commit',
    'sent_before_commit',
    'payout c',
    ({ host }) => change(host, isIntent('c'), { at: 4_000 }),
  ],
  [
    'a scheduled payout leaves early',
    'too_early',
    'payout e',
    ({ exchanges }) => void exchanges.push(create('e', 5_000)),
  ],
  [
    'a payout leaves late for the first time',
    'too_late',
    'payout c',
    ({ host }) => change(host, isIntent('c'), { at: 0, expiresAt: new Date(-2_000).toISOString() }),
  ],
  [
    'a notice twice',
    'notified_twice',
    'payout a',
    ({ host }) => void host.push(notice('a', 3, 'transfer.completed', 'complete')),
  ],
  [
    'notices out of order',
    'out_of_order',
    'payout a',
    ({ host }) => void host.push(notice('a', 1, 'transfer.enqueued', 'pending', { event: 'other' })),
  ],
  [
    'a notice in between is missing',
    'notice_missing',
    'payout a',
    ({ host }) => drop(host, isNotice('a', 'transfer.submitted')),
  ],
  [
    'an ending was not delivered to all',
    'notice_missing',
    'payout a',
    ({ host }) => drop(host, isNotice('a', 'transfer.completed', 'ends')),
  ],
  ['two ends', 'two_ends', 'payout c', ({ host }) => void host.push(notice('c', 4, 'transfer.completed', 'complete'))],
  [
    'a notice of what was never committed',
    'notice_without_intent',
    'y',
    ({ host }) => void host.push(notice('y', 1, 'transfer.enqueued', 'pending')),
  ],
  [
    'a delivered status went back',
    'status_backwards',
    'payout c',
    ({ host }) => void host.push(notice('c', 4, 'transfer.processing', 'processing')),
  ],
  [
    'a status at the service went back',
    'status_backwards',
    'payout a',
    ({ service }) => change(service, ({ kind }) => kind === 'status', { status: 'failed' }),
  ],
  [
    'an answer that is not true any more',
    'answer_untrue',
    'payout c',
    ({ exchanges }) =>
      void exchanges.push({
        at: 1,
        doneAt: 2,
        method: 'GET',
        path: '/accounts/account-1/transfers',
        status: 200,
        answer: JSON.stringify({ transfers: [{ id: 'effect-c', status: 'complete' }] }),
        end: 'answered',
      }),
  ],
  [
    'a balance is off by one',
    'balance_wrong',
    'wallet-1',
    ({ service }) => change(service, isBalance, { available: '89.500001' }),
  ],
  [
    'a hold that is not released',
    'balance_wrong',
    'wallet-1',
    (draft) => {
      drop(draft.service, (line) => line.kind === 'entry' && line.step === 'void')
      change(draft.service, isBalance, { available: '79', held: '10.5' })
    },
  ],
  [
    'a wallet below zero in between',
    'below_zero',
    'wallet-1',
    ({ service }) => void service.push(balance('-0.01', { last: false })),
  ],
  [
    'a posting that does not sum to zero',
    'unbalanced',
    'effect-a post USDC',
    ({ service }) => drop(service, (line) => line.kind === 'entry' && line.step === 'post' && line.ledger === '9'),
  ],
  [
    'money that was made',
    'money_not_conserved',
    'wallet-1',
    (draft) => {
      draft.service.push(
        entry('effect-z', 'post', '1', 'available', '5'),
        entry('effect-z', 'post', '9', 'available', '-5'),
      )
      change(draft.service, isBalance, { available: '94.5' })
    },
  ],
  [
    'money that did not arrive',
    'money_not_conserved',
    'wallet-1',
    ({ host }) => change(host, ({ kind }) => kind === 'funded', { amount: '101' }),
  ],
  ['a tenant is starved', 'starved', 'payout c', ({ exchanges }) => change(exchanges, isSent('c'), { at: 99_000 })],
]
