import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { consoleHost, type Json } from '../test/host.ts'
import { routes } from './routes.ts'

const accountNumber = '9876543210987'
const secret = 'sk_live_hunter2hunter2'
const password = 'correcthorse'
const planted = `account ${accountNumber}, key ${secret}, postgres://bank:${password}@db/x`

describe('no answer', async () => {
  const host = await consoleHost()
  const { call, engine, commit } = host

  /** Everything that people, handlers and services write freely has a number of an account and secrets. */
  const plant = async () => {
    const note = { actor: 'olga', reason: planted }
    const failing = host.again()
    failing.subscribe('books', ['transfer.enqueued'], async () => {
      throw new Error(planted)
    })
    host.gateway.script(() => ({ outcome: 'rejected', code: 'closed', detail: planted }))
    await failing.start()
    const policies = [{ name: 'odd', when: { metadata: { odd: 'yes' } }, hold: planted }]
    await commit((tx) => engine.policies.set(tx, policies, note))
    const batch = await commit((tx) => engine.batches.create(tx, { accountId: 'acme', metadata: { bank: planted } }))
    const others = { metadata: { bank: planted }, note: planted, batchId: batch.id }
    const transfer = await host.enqueue({
      ...others,
      destination: { valueType: 'USD', transferType: 'ach_credit', address: bank },
    })
    const held = await host.enqueue({ ...others, createdBy: 'carl', metadata: { odd: 'yes', bank: planted } })
    await commit((tx) => engine.transfers.hold(tx, held.id, note))
    await waitUntil(async () => (await engine.transfers.get(transfer.id))?.stage === 'settled')
    await waitUntil(
      async () => (await host.pool.query('select from outlay.delivery where failures > 0')).rows.length > 0,
    )
    await failing.stop()
    await host.pool.query(`update outlay.delivery set dead = true where failures > 0`)
    await host.pool.query(`update outlay.attempt set detail = $1`, [planted])
    await commit((tx) => engine.stops.add(tx, { scope: 'all', ...note }))
    await commit((tx) => engine.fence(tx, note))
    return { transfer, held, batch }
  }

  it('has an account number or a secret that was planted everywhere', async () => {
    const { transfer, held, batch } = await plant()
    const texts: (readonly [line: string, text: string])[] = []
    const ask = async (line: string, body?: Json) => {
      const { status, text } = await call(line, { body })
      texts.push([line, text])
      return status
    }
    for (const { method, path } of routes.filter((one) => one.method === 'get')) {
      for (const transferId of [transfer.id, held.id]) {
        const filled = path
          .replace(':transferId', transferId)
          .replace(':batchId', batch.id)
          .replace(':accountId', 'acme')
        const byKey = path.endsWith('by-key') ? `?accountId=acme&idempotencyKey=${transfer.idempotencyKey}` : ''
        const withKey = path.endsWith('with-key') ? `?idempotencyKey=${transfer.idempotencyKey}` : byKey
        const query = path.endsWith('by-remote-id') ? '?remoteId=r' : withKey
        expect([path, await ask(`${method.toUpperCase()} ${filled}${query}`)]).toEqual([path, 200])
      }
    }
    const reason = planted
    await ask(`POST /transfers/${held.id}/release`, { reason })
    await ask(`POST /transfers/${held.id}/cancel`, { reason })
    await ask(`POST /transfers/${transfer.id}/resubmit`, { reason })
    await ask(`POST /transfers/${transfer.id}/resolve`, { reason, remoteId: accountNumber })
    await ask(`POST /batches/${batch.id}/pause`, { reason })
    await ask('POST /bulk/transfers/cancel', { filter: { metadata: { bank: planted } }, dryRun: true })
    await ask('GET /audit')
    await ask(`GET /transfers/${held.id}`)
    const leaks = texts.filter(([, text]) => [accountNumber, secret, password].some((hidden) => text.includes(hidden)))
    expect(leaks.map(([line]) => line)).toEqual([])
    // The texts themselves were there, or nothing would have been tried.
    const places = ['lastError":"Error: ', 'detail":"', 'why":"', 'reason":"', 'bank":"', 'note":"', '(']
    const all = texts.map(([, text]) => text).join(' ')
    const shown = 'account [hidden], key [hidden], postgres://[hidden]@db/x'
    expect(places.filter((place) => !all.includes(`${place}${shown}`))).toEqual([])
  })
})

const names = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
const bank = {
  owner: 'Bolt Ltd',
  name: 'Bolt',
  accountNumber,
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: names,
  beneficiaryAddress: names,
  transferTypes: ['ach_credit'],
} as const
