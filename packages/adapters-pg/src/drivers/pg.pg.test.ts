import { describeDriver } from '@outlay/testing/conformance'
import pg from 'pg'
import { describe } from 'vitest'
import { postgres } from '../backend.ts'
import { pgDriver } from './pg.ts'

describe.each([{ prepared: true }, { prepared: false }])('with the options %j', (options) => {
  describeDriver<pg.PoolClient>('pg', (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 30 })
    return {
      backend: postgres({ driver: pgDriver(pool, options) }),
      async transaction(work) {
        const tx = await pool.connect()
        try {
          await tx.query('begin')
          const result = await work(tx)
          await tx.query('commit')
          return result
        } catch (error) {
          await tx.query('rollback')
          throw error
        } finally {
          tx.release()
        }
      },
      async nested(tx, work) {
        await tx.query('savepoint inside')
        try {
          const result = await work(tx)
          await tx.query('release savepoint inside')
          return result
        } catch (error) {
          await tx.query('rollback to savepoint inside')
          throw error
        }
      },
      insertNote: (tx, id, body) => tx.query('insert into note values ($1, $2)', [id, body]),
      close: () => pool.end(),
    }
  })
})
