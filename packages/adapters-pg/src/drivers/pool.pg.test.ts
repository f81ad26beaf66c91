import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { expect, it } from 'vitest'
import { poolDriver } from './pool.ts'

it('a client that fails between the pool and the caller ends no process, however early it was opened', async () => {
  const { url } = await testDatabase()
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  // It is open before the driver exists, as that of a migration is.
  await pool.query('select 1')
  poolDriver(pool)
  const failInHand = () =>
    new Promise<unknown>((resolve) => {
      pool.connect((error, client, release) => {
        try {
          client?.emit('error', new Error('terminating connection due to administrator command'))
          resolve(error)
        } catch (unheard) {
          resolve(unheard)
        }
        release(true)
      })
    })
  expect(await failInHand()).toBeUndefined()
  // And one that is opened afterwards.
  expect(await failInHand()).toBeUndefined()
  await pool.end()
})
