import { createEngine } from '@outlay/core'
import { addresses, memoryGateway } from '@outlay/testing'
import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { kyselyDriver } from '../drivers/kysely.ts'
import { chunkSize } from './enqueue-chunks.ts'

interface Tables {
  readonly note: { readonly id: number }
}

const refused = { status: 'rejected', reason: { code: 'conflict', field: 'tx' } }
const payouts = (name: string, length: number) =>
  Array.from({ length }, (_, n) => samplePayout(name, { idempotencyKey: `${name}-${n}` }))

// A library knows one transaction by several handles.
describe('an enqueue through another handle of a transaction in which thousands are written', async () => {
  const { pool, rows } = await testHost()
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const backend = postgres({ driver: kyselyDriver({ db, pool }) })
  const gateway = memoryGateway()
  const other = createEngine({ backend, gateway })
  const keys = async () =>
    (await rows('select idempotency_key as key from outlay.transfer')).map(({ key }) => key).sort()

  /** An engine that runs this when its first chunk is on its way. */
  function whileWriting(work: () => Promise<unknown>) {
    let isBegun = false
    const driver = kyselyDriver({ db, pool })
    const execute: typeof driver.execute = (tx, statement, values) => {
      const sent = driver.execute(tx, statement, values)
      if (!isBegun && statement.name.includes('enqueue_many')) {
        isBegun = true
        void work()
      }
      return sent
    }
    return createEngine({ backend: postgres({ driver: { ...driver, execute } }), gateway })
  }

  it.each([
    ['one', (tx: Transaction<Tables>) => other.transfers.enqueue(tx, samplePayout('acme'))],
    ['few', (tx: Transaction<Tables>) => other.transfers.enqueueMany(tx, payouts('few', 2))],
    ['thousands', (tx: Transaction<Tables>) => other.transfers.enqueueMany(tx, payouts('thousands', chunkSize + 1))],
    [
      'one with metadata',
      (tx: Transaction<Tables>) => other.transfers.enqueue(tx, samplePayout('acme', { metadata: { a: 'b' } })),
    ],
  ])('is refused, and the transaction goes on: %s', async (_, enqueue) => {
    await rows('truncate outlay.transfer cascade')
    const known = samplePayout('z', { idempotencyKey: 'z-known' })
    const broken = { ...known, amount: { value: '1.00', currency: 'USD' } }
    const after = await db.transaction().execute(async (tx) => {
      await other.transfers.enqueue(tx, known)
      const beside = Promise.withResolvers<unknown>()
      const engine = whileWriting(async () =>
        beside.resolve(
          await enqueue(tx.withSchema('public')).then(
            () => 'written',
            (error: unknown) => error,
          ),
        ),
      )
      await expect(engine.transfers.enqueueMany(tx, [...payouts('y', chunkSize + 1), broken])).rejects.toMatchObject({
        code: 'idempotency_key_mismatch',
      })
      expect(await beside.promise).toMatchObject(refused.reason)
      return [
        known,
        await other.transfers.enqueue(tx.withSchema('public'), samplePayout('acme', { idempotencyKey: 'after' })),
      ]
    })
    expect(await keys()).toEqual(after.map(({ idempotencyKey }) => idempotencyKey).sort())
  })

  it('is not refused behind thousands that are written, nor in the next transaction of the connection', async () => {
    await rows('truncate outlay.transfer cascade')
    await db.transaction().execute(async (tx) => {
      await other.transfers.enqueueMany(tx, payouts('y', chunkSize + 1))
      await other.transfers.enqueueMany(tx.withSchema('public'), payouts('x', chunkSize + 1))
    })
    await db
      .transaction()
      .execute((tx) => other.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey: 'next' })))
    expect(await keys()).toHaveLength(2 * chunkSize + 3)
  })

  it('says so where it begins between a payout and the details of its counterparty', async () => {
    await rows('truncate outlay.transfer cascade')
    const address = { name: 'Grace', address: addresses.evm[1], transferTypes: ['base'] }
    const inFull = samplePayout('acme', {
      amount: { value: '1', currency: 'USDC' },
      destination: { address, valueType: 'USDC', transferType: 'base' },
    })
    const driver = kyselyDriver({ db, pool })
    let many: Promise<unknown> | undefined
    const execute: typeof driver.execute = async (tx, statement, values) => {
      const answer = await driver.execute(tx, statement, values)
      const isOne = statement.name.includes('enqueue_one')
      if (!isOne) return answer
      const begun = Promise.withResolvers<void>()
      const spied: typeof driver.execute = async (on, other, given) => {
        if (other.name.includes('enqueue_many')) begun.resolve()
        return driver.execute(on, other, given)
      }
      const engine = createEngine({ backend: postgres({ driver: { ...driver, execute: spied } }), gateway })
      many = engine.transfers.enqueueMany((tx as Transaction<Tables>).withSchema('public'), payouts('y', chunkSize + 1))
      await begun.promise
      return answer
    }
    const engine = createEngine({ backend: postgres({ driver: { ...driver, execute } }), gateway })
    const enqueuing = db.transaction().execute(async (tx) => {
      const [one] = await Promise.allSettled([engine.transfers.enqueue(tx, inFull)])
      await many
      if (one.status === 'rejected') throw one.reason
    })
    await expect(enqueuing).rejects.toMatchObject({ ...refused.reason, message: expect.stringContaining('roll back') })
    expect(await keys()).toEqual([])
  })
})
