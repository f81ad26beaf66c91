import type {
  Asked,
  Balance,
  Effect,
  Entry,
  Exchange,
  History,
  HostLine,
  Intent,
  Notice,
  ServiceLine,
} from '../src/history.ts'

/** A history that can be doctored. */
export type Draft = {
  -readonly [Member in keyof History]: History[Member] extends readonly (infer T)[] ? T[] : History[Member]
}

const hour = 3_600_000
const wallet = { address: 'wallet-1', valueType: 'USDC', transferType: 'base' }
const payee = { address: 'payee-1', valueType: 'USDC', transferType: 'base' }

/** A host's intent, under its own reference. */
const asked = (reference: string, more: Partial<Asked> = {}): Asked => ({
  reference,
  amount: { value: '10.50', currency: 'USDC' },
  source: wallet,
  destination: payee,
  ...more,
})

export const intent = (id: string, at: number, more: Partial<Intent> = {}): Intent => ({
  kind: 'intent',
  at,
  id,
  account: 'account-1',
  ...asked(`payout ${id}`),
  ...more,
})

export const create = (id: string, at: number, more: Partial<Exchange> = {}): Exchange => ({
  at,
  doneAt: at + 5,
  method: 'POST',
  path: '/accounts/account-1/transfers',
  key: `key-${id}`,
  client: 'client-1',
  body: JSON.stringify({
    amount: { value: '10.5', currency: 'USDC' },
    source: { address_id: 'wallet-1', value_type: 'USDC', transfer_type: 'base' },
    destination: { address_id: 'payee-1', value_type: 'USDC', transfer_type: 'base' },
    note: `payout ${id}`,
  }),
  status: 201,
  answer: JSON.stringify({ id: `effect-${id}`, status: 'pending' }),
  end: 'answered',
  ...more,
})

export const effect = (id: string, more: Partial<Effect> = {}): Effect => ({
  kind: 'transfer',
  id: `effect-${id}`,
  account: 'account-1',
  status: 'complete',
  retriable: false,
  amount: { value: '10.50', currency: 'USDC' },
  source: wallet,
  destination: payee,
  note: `payout ${id}`,
  ...more,
})

export const notice = (
  id: string,
  sequence: number,
  type: string,
  status: string,
  more: Partial<Notice> = {},
): Notice => ({
  kind: 'notice',
  at: sequence * 1_000 + 500,
  subscription: 'all',
  event: `${id}-${sequence}`,
  type,
  intent: id,
  sequence,
  status,
  retriable: false,
  remote: `effect-${id}`,
  ...more,
})

export const entry = (
  posting: string,
  step: string,
  ledger: string,
  bucket: Entry['bucket'],
  amount: string,
): Entry => ({
  kind: 'entry',
  posting,
  step,
  ledger,
  bucket,
  value: 'USDC',
  amount,
})

export const balance = (available: string, more: Partial<Balance> = {}): Balance => ({
  kind: 'balance',
  at: 5_000,
  ledger: '1',
  owner: 'custodial',
  account: 'account-1',
  address: 'wallet-1',
  value: 'USDC',
  rail: 'base',
  available,
  held: '0',
  last: true,
  ...more,
})

/** Writes the same for another subscription. */
const alsoEndings = (one: Notice): Notice => ({ ...one, subscription: 'ends' })

const problem = (status: number, code: string) => ({ status, answer: JSON.stringify({ code }) })

/**
 * A correct run: a payout that is paid after an unanswered attempt (`a`), one that the service refused
 * (`b`), one that failed on its rail (`c`), one that was canceled before it left (`d`), and four that may be open: for a later time
 * (`e`), for lack of funds (`f`), blocked (`g`), paused (`h`). `x` was rolled back.
 */
export function smallHistory(): Draft {
  const paid = notice('a', 3, 'transfer.completed', 'complete')
  const refused = notice('b', 2, 'transfer.failed', 'failed', { remote: null })
  const failed = notice('c', 3, 'transfer.failed', 'failed')
  const canceled = notice('d', 2, 'transfer.canceled', 'canceled', { remote: null })
  const enqueued = (id: string) => notice(id, 1, 'transfer.enqueued', 'pending', { remote: null })
  const host: HostLine[] = [
    { kind: 'tenant', at: 0, account: 'account-1', client: 'client-1' },
    { kind: 'tenant', at: 0, account: 'account-2', client: 'client-2' },
    { kind: 'funded', at: 0, account: 'account-1', value: 'USDC', rail: 'base', amount: '100' },
    ...['a', 'b', 'c', 'd'].map((id, index) => intent(id, 1_000 + index)),
    intent('e', 1_005, { notBefore: new Date(hour).toISOString() }),
    intent('f', 1_006),
    intent('g', 1_007),
    intent('h', 1_008, { account: 'account-2' }),
    { kind: 'promised', at: 1_010, reference: 'payout a' },
    { kind: 'withdrawn', at: 1_010, reference: 'payout x' },
    ...['a', 'b', 'c', 'd'].map(enqueued),
    notice('a', 2, 'transfer.submitted', 'pending'),
    notice('c', 2, 'transfer.submitted', 'pending'),
    ...[paid, refused, failed, canceled].flatMap((end) => [end, alsoEndings(end)]),
    notice('g', 1, 'transfer.blocked', 'pending', { remote: null }),
    { kind: 'unwell', at: 1_500, account: 'account-2', why: 'paused' },
  ]
  const { status: _status, answer: _answer, ...lost } = create('a', 1_100)
  return {
    run: {
      atRest: true,
      endedAt: 100_000,
      everything: ['all'],
      endings: ['all', 'ends'],
      keysLiveMs: 30 * 24 * hour,
      servedWithinMs: 60_000,
    },
    host,
    exchanges: [
      { ...lost, end: 'unanswered' },
      create('b', 1_110, problem(422, 'invalid_account_number')),
      create('c', 1_120),
      create('f', 1_130, problem(422, 'insufficient_balance')),
      create('g', 1_140, problem(422, 'idempotency_key_mismatch')),
      create('a', 2_100),
      {
        at: 3_000,
        doneAt: 3_001,
        method: 'GET',
        path: '/accounts/account-1/transfers/effect-a',
        client: 'client-1',
        status: 200,
        answer: JSON.stringify({ id: 'effect-a', status: 'complete' }),
        end: 'answered',
      },
    ],
    service: statements(),
  }
}

/** What the service states after it paid `a`, and gave the money of `c` back. */
const statements = (): ServiceLine[] => [
  { kind: 'status', at: 2_200, id: 'effect-a', status: 'processing', retriable: false },
  balance('79', { last: false, at: 2_200 }),
  effect('a'),
  effect('c', { status: 'failed' }),
  entry('deposit', 'deposit', '9', 'available', '-100'),
  entry('deposit', 'deposit', '1', 'available', '100'),
  entry('effect-a', 'hold', '1', 'available', '-10.5'),
  entry('effect-a', 'hold', '1', 'held', '10.5'),
  entry('effect-a', 'post', '1', 'held', '-10.5'),
  entry('effect-a', 'post', '9', 'available', '10.5'),
  entry('effect-c', 'hold', '1', 'available', '-10.5'),
  entry('effect-c', 'hold', '1', 'held', '10.5'),
  entry('effect-c', 'void', '1', 'held', '-10.5'),
  entry('effect-c', 'void', '1', 'available', '10.5'),
  balance('89.5'),
]
