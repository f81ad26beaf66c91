import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { describeDriver } from '@outlay/testing/conformance'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { mikroOrms, openMikroOrm, openMikroOrmSubject } from '../../test/mikro-orm-subject.ts'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { mikroOrmDriver } from './mikro-orm.ts'

describe.each(Object.entries(mikroOrms))('%s', async (name, library) => {
  describeDriver(name, (url) => openMikroOrmSubject(url, library))

  const { url } = await testDatabase({ key: 'outlay', prepare: migrateOutbox })

  it('enqueues where the host begins and ends by itself, and in the context of a transaction', async () => {
    const orm = await openMikroOrm(url, { library })
    const pool = new pg.Pool({ connectionString: url })
    const engine = createEngine({
      backend: postgres({ driver: mikroOrmDriver({ orm, pool }) }),
      gateway: memoryGateway(),
    })
    const enqueue = (em: typeof orm.em) => engine.transfers.enqueue(em, samplePayout('acme'))
    try {
      const em = orm.em.fork()
      await em.begin()
      const kept = await enqueue(em)
      await em.commit()
      await expect(enqueue(em)).rejects.toMatchObject({ code: 'no_transaction', field: 'tx' })
      expect(await engine.transfers.get(kept.id)).toBeDefined()
      await em.begin()
      const { id } = await enqueue(em)
      await em.rollback()
      expect(await engine.transfers.get(id)).toBeUndefined()
      // The root is the entity manager of the transaction that surrounds it.
      const inside = await orm.em.fork().transactional(() => enqueue(orm.em))
      expect(await engine.transfers.get(inside.id)).toBeDefined()
      await expect(enqueue(orm.em)).rejects.toMatchObject({ code: 'no_transaction', field: 'tx' })
    } finally {
      await orm.close()
      await pool.end()
    }
  })

  it('enqueues nothing in a nested transaction that is rolled back to its savepoint, and the outer one goes on', async () => {
    const orm = await openMikroOrm(url, { library })
    const pool = new pg.Pool({ connectionString: url })
    const engine = createEngine({
      backend: postgres({ driver: mikroOrmDriver({ orm, pool }) }),
      gateway: memoryGateway(),
    })
    const enqueue = (em: typeof orm.em) => engine.transfers.enqueue(em, samplePayout('acme'))
    try {
      const ids = await orm.em.fork().transactional(async (em) => {
        const before = await enqueue(em)
        const lost: string[] = []
        const nested = em.transactional(async (inner) => {
          lost.push((await enqueue(inner)).id)
          throw new Error('changed my mind')
        })
        await expect(nested).rejects.toThrow('changed my mind')
        const after = await enqueue(em)
        const kept = await em.transactional((inner) => enqueue(inner))
        return { kept: [before.id, after.id, kept.id], lost }
      })
      const find = (transferIds: readonly string[]) =>
        Promise.all(transferIds.map(async (id) => (await engine.transfers.get(id))?.id))
      expect(ids.lost).toHaveLength(1)
      expect([await find(ids.kept), await find(ids.lost)]).toEqual([ids.kept, [undefined]])
    } finally {
      await orm.close()
      await pool.end()
    }
  })

  it.each([
    ['was rolled back after it had enqueued', true, true],
    ['was rolled back and had enqueued nothing', true, false],
    ['is in the one around it', false, false],
  ])('refuses an entity manager kept from a nested transaction that %s', async (_, isRolledBack, hasEnqueued) => {
    const orm = await openMikroOrm(url, { library })
    const pool = new pg.Pool({ connectionString: url })
    const engine = createEngine({
      backend: postgres({ driver: mikroOrmDriver({ orm, pool }) }),
      gateway: memoryGateway(),
    })
    const enqueue = (em: typeof orm.em) => engine.transfers.enqueue(em, samplePayout('kept'))
    try {
      const kept = await orm.em.fork().transactional(async (em) => {
        const managers: (typeof em)[] = []
        const nested = em.transactional(async (inner) => {
          managers.push(inner)
          if (hasEnqueued) await enqueue(inner)
          if (isRolledBack) throw new Error('changed my mind')
        })
        await nested.catch((error: unknown) => expect(error).toMatchObject({ message: 'changed my mind' }))
        expect(managers).toHaveLength(1)
        for (const manager of managers)
          await expect(enqueue(manager)).rejects.toMatchObject({ code: 'no_transaction', field: 'tx' })
        return enqueue(em)
      })
      const { rows } = await pool.query(`delete from outlay.transfer where account_id = 'kept' returning id`)
      expect(rows).toEqual([{ id: kept.id }])
    } finally {
      await orm.close()
      await pool.end()
    }
  })

  it.each([
    [20, 5, 5],
    [3, 30, 3],
  ])('handlers take no more than both pools have: %i and %i', async (max, own, expected) => {
    const orm = await openMikroOrm(url, { library, max: own })
    const pool = new pg.Pool({ max })
    expect(mikroOrmDriver({ orm, pool }).maxConnections).toBe(expected)
    await orm.close()
  })
})
