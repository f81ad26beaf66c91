import { waitUntil } from '@outlay/testing'
import type { ConsoleHost } from './host.ts'

const bank = (owner: string, accountNumber: string) => ({
  ...{ owner, name: owner, accountNumber, routingNumber: '021000021', accountType: 'checking' as const },
  bankAddress: { streetLine1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' },
  beneficiaryAddress: { streetLine1: '2 Oak St', city: 'Springfield', state: 'IL', zip: '62701' },
  transferTypes: ['ach_credit' as const],
})

const people = [
  ['Ana Lima', '12345678'],
  ['Brook & Sons', '55512345'],
  ['Chidi Okafor', '90817263'],
  ['Delphi Freight', '44556677'],
  ['Emre Yilmaz', '10293847'],
] as const

const amounts = ['1250.00', '84.90', '17300.00', '640.25', '2999.99', '412.00', '9800.50', '75.10', '120.00', '5400.00']

/** The ids of a story, by what has become of each. */
export interface Story {
  readonly complete: string
  readonly failed: string
  readonly blocked: string
  readonly held: readonly string[]
  readonly queued: string
  readonly batchId: string
}

/** Makes a day of a host with everything that the pages show: paid, refused, in doubt, held, in a batch, and not delivered. */
export async function makeStory(host: ConsoleHost): Promise<Story> {
  const { commit, engine, gateway, pool } = host
  const pay = (at: number, more: Parameters<ConsoleHost['enqueue']>[0] = {}) => {
    const [owner, number] = people[at % people.length] ?? people[0]
    return host.enqueue({
      accountId: at % 3 === 0 ? 'globex' : 'acme',
      idempotencyKey: `invoice-${1040 + at}`,
      amount: { value: amounts[at % amounts.length] ?? '1.00', currency: 'USD' },
      destination: { address: bank(owner, number), valueType: 'USD', transferType: 'ach_credit' } as never,
      metadata: { invoice: `2026-${1040 + at}` },
      createdBy: 'carl@example.com',
      ...more,
    })
  }
  gateway.script(({ request: { amount } }) =>
    amount.value === '84.90'
      ? { outcome: 'rejected', code: 'account_closed', detail: 'The account of the payee is closed.' }
      : undefined,
  )
  const worker = host.again()
  worker.subscribe('bookkeeping', ['transfer.completed', 'transfer.failed'], async ({ type }) => {
    if (type === 'transfer.failed') throw new Error('The ledger has no account 2400.')
  })
  const first = []
  for (let at = 0; at < 10; at += 1) first.push(await pay(at))
  await worker.start()
  await waitUntil(async () => {
    const { queued, submitting, submitted, undelivered } = await engine.backlog()
    return queued + submitting + submitted === 0 && undelivered === 1 ? true : undefined
  })
  await worker.stop()
  await pool.query(`update outlay.delivery set dead = true, ready = false, failures = 9`)
  const policies = [
    { name: 'large', when: { amounts: { USD: { from: '10000' } } }, approvals: [{ count: 1, roles: ['finance'] }] },
    { name: 'at-night', when: { metadata: { night: 'yes' } }, hold: 'somebody checks it in the morning' },
    { name: 'no-wires', when: { accounts: ['globex'], rails: ['wire'] }, refuse: 'this customer has no wires' },
  ]
  await commit((tx) =>
    engine.policies.set(tx, policies, { actor: 'petra@example.com', reason: 'decision of the board' }),
  )
  const batch = await commit((tx) => engine.batches.create(tx, { accountId: 'acme', key: 'payroll-november' }))
  const held = []
  for (let at = 10; at < 14; at += 1) {
    const amount = { value: `${at}400.00`, currency: 'USD' }
    held.push(await pay(at, { accountId: 'acme', amount, ...(at > 12 ? { batchId: batch.id } : {}) }))
  }
  const queued = await pay(20, { accountId: 'acme', batchId: batch.id })
  const blocked = await pay(21, { accountId: 'acme' })
  await pay(22)
  await pool.query(
    `update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown', updated_at = now() - interval '2 hours' where id = $1`,
    [blocked.id],
  )
  const odd = await pay(24, { accountId: 'globex' })
  await commit((tx) => engine.transfers.hold(tx, odd.id, { actor: 'olga@example.com', reason: 'the payee called' }))
  return {
    complete: first[0]?.id ?? '',
    failed: first[1]?.id ?? '',
    blocked: blocked.id,
    held: held.map(({ id }) => id),
    queued: queued.id,
    batchId: batch.id,
  }
}
