import { inspect } from 'node:util'
import { type EnqueueRequest, type EventType, eventTypes } from '@outlay/core'
import { addresses, drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { fetchJobs, jobTable, loseJobs } from '../../test/queue.ts'
import { createAttemptStore } from '../dispatch/attempts.ts'
import { pgDriver } from '../drivers/pg.ts'
import { inspect as inspectPlace } from '../inspection/inspection.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createCounterpartyStore } from './counterparties.ts'

const names = { streetLine1: '1 Canary Row', city: 'Austin', state: 'TX', zip: '78701' }
const secrets = ['98765432101234', '021000021', 'Ada Canary', '1 Canary Row']
const bank = {
  owner: 'Ada Canary',
  name: 'Ada, salary',
  accountNumber: '98765432101234',
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: names,
  beneficiaryAddress: names,
  transferTypes: ['ach_credit'],
} as const
const summary = { kind: 'bank_account', name: 'Ada, salary', lastFour: '1234', transferTypes: ['ach_credit'] }
const toBank = (details: Partial<typeof bank> | { readonly accountNumber: string } = {}) =>
  ({ address: { ...bank, ...details }, valueType: 'USD', transferType: 'ach_credit' }) as const

describe('a counterparty that a transfer gives whole', async () => {
  const { pool, open, commit } = await testHost()
  const { tokens } = resolveNames({})

  function make(gateway = memoryGateway()) {
    const engine = open({ gateway })
    return { engine, gateway }
  }
  const order = (overrides: Partial<EnqueueRequest> = {}): EnqueueRequest =>
    samplePayout('acme', { destination: toBank(), ...overrides })
  const enqueue = (engine: HostEngine, overrides: Partial<EnqueueRequest> = {}) =>
    commit((tx) => engine.transfers.enqueue(tx, order(overrides)))
  const reach = (engine: HostEngine, id: string, isThere: (reason: string | null, stage: string) => boolean) =>
    waitUntil(async () => {
      const found = await engine.transfers.get(id)
      return found !== undefined && isThere(found.reason, found.stage) ? found : undefined
    })
  const settled = (engine: HostEngine, id: string) => reach(engine, id, (_, stage) => stage === 'settled')
  const attemptsOf = async (id: string) => {
    const { rows } = await pool.query('select outcome from outlay.attempts_of($1)', [id])
    return rows.map(({ outcome }) => outcome)
  }
  const kept = async () => (await pool.query('select transfer_id from outlay.counterparty_details')).rows.length
  const cancel = (engine: HostEngine, id: string) => commit((tx) => engine.transfers.cancel(tx, id))
  const unknown = { outcome: 'unknown', detail: 'reset', retryAfterMs: 600_000 } as const

  it('is registered under a key of its own, then paid by the id of its address', async () => {
    const { engine, gateway } = make()
    const { id, request } = await enqueue(engine)
    expect(request.destination).toMatchObject({ address: summary, transferType: 'ach_credit' })
    await engine.start()
    await drain(engine)
    expect(gateway.registrations).toMatchObject([{ transferId: id, accountId: 'acme', address: bank }])
    expect(gateway.registrations[0]?.idempotencyKey).not.toBe(gateway.submissions[0]?.idempotencyKey)
    expect(gateway.submissions).toHaveLength(1)
    const destination = { addressId: 'address-1', valueType: 'USD', transferType: 'ach_credit' }
    expect(gateway.submissions[0]).toMatchObject({ transferId: id, request: { destination } })
    expect(gateway.submissions[0]?.request.destination).toEqual(destination)
    expect(await engine.transfers.get(id)).toMatchObject({
      status: 'complete',
      request: { destination: { ...destination, address: summary } },
    })
    expect(await attemptsOf(id)).toEqual(['registration accepted', 'accepted'])
  })

  it('leaves no bank details behind: not in rows, jobs, events, or reads, before it is registered or after', async () => {
    const { engine, gateway } = make()
    const received: unknown[] = []
    engine.subscribe('all', [...eventTypes] as EventType[], async (event) => void received.push(event))
    const first = await enqueue(engine, { idempotencyKey: 'payslip' })
    const names = inspectPlace({ driver: pgDriver(pool) })
    const shown = async () => {
      const reads = await Promise.all([
        engine.transfers.get(first.id),
        engine.transfers.getByKey('acme', 'payslip'),
        enqueue(engine, { idempotencyKey: 'payslip' }),
        names.evidence(first.id),
        names.transfers(),
      ])
      const tables = ['transfer', 'event', 'attempt', 'delivery', 'transfers', 'counterparty']
      const rows = await Promise.all(tables.map((name) => pool.query(`select * from outlay.${name}`)))
      const jobs = await pool.query(`select * from ${jobTable}`)
      return inspect([first, reads, received, jobs.rows, rows.map((one) => one.rows)], { depth: 20 })
    }
    const before = await shown()
    for (const secret of secrets) expect(before).not.toContain(secret)
    expect(before).toContain('Ada, salary')
    expect(await kept()).toBe(1)
    await engine.start()
    await drain(engine)
    await waitUntil(() => received.length === 2)
    const after = await shown()
    for (const secret of secrets) expect(after).not.toContain(secret)
    expect(await kept()).toBe(0)
    expect(gateway.registrations).toHaveLength(1)
  })

  it('is part of what its key stands for, also when its details are wiped', async () => {
    const { engine } = make()
    const { id } = await enqueue(engine, { idempotencyKey: 'payslip' })
    const others = [toBank({ accountNumber: '98765432101235' }), samplePayout('acme').destination]
    const compare = async () => {
      expect(await enqueue(engine, { idempotencyKey: 'payslip' })).toMatchObject({ id, reused: true })
      for (const destination of others) {
        const again = order({ idempotencyKey: 'payslip', destination })
        const mismatch = { code: 'idempotency_key_mismatch' }
        await expect(commit((tx) => engine.transfers.enqueue(tx, again))).rejects.toMatchObject(mismatch)
        await expect(commit((tx) => engine.transfers.enqueueMany(tx, [order(), again]))).rejects.toMatchObject(mismatch)
      }
    }
    await compare()
    await engine.start()
    await settled(engine, id)
    await drain(engine)
    expect(await kept()).toBe(0)
    await compare()
  })

  it('does not exist when the host rolls back', async () => {
    const { engine, gateway } = make()
    await commit(async (tx) => {
      await engine.transfers.enqueue(tx, order())
      await engine.transfers.enqueueMany(tx, [order(), order()])
      throw new Error('not after all')
    }).catch(() => undefined)
    expect(await kept()).toBe(0)
    await engine.start()
    await enqueue(engine)
    await drain(engine)
    expect(gateway.registrations).toHaveLength(1)
  })

  it('is registered under one key however many transfers pay it, and others under others', async () => {
    const { engine, gateway } = make()
    const same = Array.from({ length: 50 }, () => order())
    const another = order({ destination: toBank({ accountNumber: '55554444' }) })
    await commit((tx) => engine.transfers.enqueueMany(tx, [...same, another, samplePayout('acme')]))
    await engine.start()
    const second = make(gateway)
    await second.engine.start()
    await drain(engine)
    expect(gateway.submissions).toHaveLength(52)
    expect(new Set(gateway.registrations.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2)
    expect(gateway.addresses.size).toBe(2)
    const calls = gateway.registrations.length
    await enqueue(engine)
    await drain(engine)
    expect(gateway.registrations).toHaveLength(calls)
    expect(gateway.submissions.at(-1)?.attempt).toBe(1)
  })

  it('leaves the transfer free to be canceled while only its registration is unknown', async () => {
    const { engine, gateway } = make()
    gateway.scriptAfterRegistration(() => unknown)
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, (reason) => reason === 'registration_unknown')
    const { rows } = await pool.query('select unknown_since from outlay.transfer where id = $1', [id])
    expect(rows[0].unknown_since).toBeNull()
    await cancel(engine, id)
    expect(gateway.submissions).toEqual([])
    expect(await attemptsOf(id)).toEqual(['registration unknown'])
  })

  it('is unknown since its first such answer, until a person releases the transfer', async () => {
    const { engine, gateway } = make()
    gateway.scriptAfterRegistration(({ attempt }) => ({ ...unknown, retryAfterMs: attempt === 1 ? 1 : 600_000 }))
    await engine.start()
    const { id } = await enqueue(engine)
    const since = async () => {
      const text =
        'select unknown_since from outlay.counterparty_details where transfer_id = $1 and unknown_since is not null'
      return (await pool.query(text, [id])).rows[0]?.unknown_since as Date | undefined
    }
    const first = await waitUntil(since)
    await waitUntil(async () => (await attemptsOf(id))[1] === 'registration unknown')
    expect(await since()).toEqual(first)
    await pool.query(`update outlay.counterparty_details set unknown_since = now() - interval '24 hours'`)
    gateway.scriptAfterRegistration(() => unknown)
    await loseJobs(pool)
    await reach(engine, id, (reason, stage) => stage === 'blocked' && reason === 'registration_unknown')
    gateway.scriptAfterRegistration(() => undefined)
    await commit(async (tx) => {
      await engine.transfers.release(tx, id)
      const { rows } = await tx.query('select unknown_since from outlay.counterparty_details')
      expect(rows).toEqual([{ unknown_since: null }])
    })
    expect((await settled(engine, id)).status).toBe('complete')
  })

  it('does not keep the transfer from being canceled when its worker died while registering', async () => {
    const { engine, gateway } = make()
    const { id } = await enqueue(engine)
    const attempts = createAttemptStore(pgDriver(pool), tokens)
    const [lost] = await attempts.claim(await fetchJobs(pool, id), 'dead')
    const [next] = await attempts.claim(await fetchJobs(pool, id), 'alive')
    expect([lost?.attempt, next?.attempt]).toEqual([1, 2])
    expect(next?.unknownSince).toBeNull()
    expect(next?.registration).toEqual(lost?.registration)
    expect(await attemptsOf(id)).toEqual(['registration unanswered', 'registration unanswered'])
    await commit((tx) => engine.accounts.pause(tx, 'acme'))
    await attempts.claim(await fetchJobs(pool, id), 'alive')
    await cancel(engine, id)
    expect(gateway.registrations).toEqual([])
  })

  it('keeps the transfer from being canceled once the transfer itself may have left', async () => {
    const { engine, gateway } = make()
    gateway.scriptAfter(() => unknown)
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, (reason) => reason === 'outcome_unknown')
    await expect(cancel(engine, id)).rejects.toMatchObject({ code: 'transfer_not_cancelable' })
    expect(await attemptsOf(id)).toEqual(['registration accepted', 'unknown'])
  })

  it('fails the transfer when it is refused, and keeps the details for a resubmit under a new key', async () => {
    const { engine, gateway } = make()
    const detail = 'destination.address.accountNumber: is closed'
    gateway.scriptRegistration(() => ({ outcome: 'rejected', code: 'invalid_account_number', detail }))
    await engine.start()
    const { id } = await enqueue(engine)
    const { status, failure } = await settled(engine, id)
    expect(status).toBe('failed')
    expect(failure).toMatchObject({ type: 'rejected', code: 'invalid_account_number', detail, retriable: false })
    gateway.scriptRegistration(() => undefined)
    const again = await commit((tx) => engine.transfers.resubmit(tx, id))
    expect((await settled(engine, again.id)).status).toBe('complete')
    expect(new Set(gateway.registrations.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2)
  })

  it('is not registered again by the resubmit of a transfer that was refused after it', async () => {
    const { engine, gateway } = make()
    gateway.script(() => ({ outcome: 'rejected', code: 'limit', detail: 'too much today' }))
    await engine.start()
    const { id } = await enqueue(engine)
    await settled(engine, id)
    gateway.script(() => undefined)
    const again = await commit((tx) => engine.transfers.resubmit(tx, id))
    expect((await settled(engine, again.id)).request.destination).toMatchObject({ addressId: 'address-1' })
    expect(gateway.registrations).toHaveLength(1)
  })

  it('is registered again for the next transfer when the service no longer has its address', async () => {
    const { engine, gateway } = make()
    await engine.start()
    await settled(engine, (await enqueue(engine)).id)
    gateway.script(() => ({ outcome: 'rejected', code: 'invalid_address', detail: 'no such address' }))
    await settled(engine, (await enqueue(engine)).id)
    gateway.script(() => undefined)
    const { id } = await enqueue(engine)
    expect((await settled(engine, id)).request.destination).toMatchObject({ addressId: 'address-2' })
  })

  it('waits with its account when the credentials are refused, and goes on with them', async () => {
    const { engine, gateway } = make()
    gateway.scriptRegistration(() => ({ outcome: 'unauthorized', detail: 'no' }))
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, (reason) => reason === 'unauthenticated')
    gateway.scriptRegistration(() => undefined)
    await commit((tx) => engine.accounts.retryCredentials(tx, 'acme'))
    expect((await settled(engine, id)).status).toBe('complete')
    expect(new Set(gateway.registrations.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
  })

  it('blocks the transfer for a person when its key is another request at the service', async () => {
    const { engine, gateway } = make()
    gateway.scriptRegistration(() => ({ outcome: 'key_mismatch', detail: 'used' }))
    await engine.start()
    const { id } = await enqueue(engine)
    const { reason } = await reach(engine, id, (_, stage) => stage === 'blocked')
    expect(reason).toBe('idempotency_key_mismatch')
    await cancel(engine, id)
  })

  it('is not registered after the transfer has expired', async () => {
    const { engine, gateway } = make()
    const { id } = await enqueue(engine, { expiresAt: new Date(Date.now() - 1000) })
    await engine.start()
    expect(await settled(engine, id)).toMatchObject({ status: 'failed', failure: { code: 'expired' } })
    expect(gateway.registrations).toEqual([])
  })

  it('is wiped 30 days after the end of a transfer that never registered it', async () => {
    const { engine } = make()
    const [ended, waiting] = await commit((tx) => engine.transfers.enqueueMany(tx, [order(), order()]))
    await cancel(engine, ended?.id ?? '')
    const store = createCounterpartyStore(pgDriver(pool), tokens)
    expect(await store.wipeEnded()).toBe(0)
    await pool.query(`update outlay.transfer set updated_at = now() - interval '31 days'`)
    expect(await store.wipeEnded()).toBe(1)
    const find = (id = '') => commit((tx) => store.find(tx, id))
    expect([await find(ended?.id), (await find(waiting?.id))?.address]).toMatchObject([undefined, bank])
    const again = commit((tx) => engine.transfers.resubmit(tx, ended?.id ?? ''))
    await expect(again).rejects.toMatchObject({ code: 'conflict' })
  })

  it('needs a gateway that registers addresses', async () => {
    const { registerAddress: _, ...gateway } = memoryGateway()
    const { engine } = make(gateway as ReturnType<typeof memoryGateway>)
    await expect(enqueue(engine)).rejects.toThrow('registers no addresses')
  })

  it('may be a wallet', async () => {
    const { engine, gateway } = make()
    const address = { name: 'Grace', address: addresses.evm[0], transferTypes: ['base'] }
    const { id } = await enqueue(engine, {
      amount: { value: '5', currency: 'USDC' },
      destination: { address, valueType: 'USDC', transferType: 'base' },
    })
    await engine.start()
    expect((await settled(engine, id)).request.destination.address).toMatchObject({ kind: 'wallet', name: 'Grace' })
    expect(gateway.registrations[0]?.address).toMatchObject({ kind: 'wallet', address: addresses.evm[0] })
  })
})
