import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { inTransaction } from '../context.ts'
import { afterCommit } from './after-commit.ts'

const database = await testDatabase()
const pool = new Pool({ connectionString: database.url, max: 2 })
afterAll(() => pool.end())
await pool.query('create table said (text text)')
const read = async () => (await pool.query('select text from said')).rows.map(({ text }) => text)

it('what is said of a transaction is said after its commit, and what that throws is ignored', async () => {
  const seen: Promise<string[]>[] = []
  const answer = await inTransaction({ pool }, async (tx) => {
    await tx.query(`insert into said values ('one')`)
    afterCommit(tx, () => {
      throw new Error('of a host')
    })
    afterCommit(tx, () => void seen.push(read()))
    expect(seen).toEqual([])
    return 'done'
  })
  expect(answer).toBe('done')
  expect(await Promise.all(seen)).toEqual([['one']])
})

it('nothing is said of a transaction that is rolled back, and of the next one on its connection', async () => {
  const said: string[] = []
  const failed = inTransaction({ pool }, async (tx) => {
    afterCommit(tx, () => void said.push('rolled back'))
    throw new Error('no')
  })
  await expect(failed).rejects.toThrow('no')
  await inTransaction({ pool }, async (tx) => afterCommit(tx, () => void said.push('committed')))
  expect(said).toEqual(['committed'])
})

it('in a transaction of somebody else it is said at once', () => {
  const said: string[] = []
  afterCommit({}, () => void said.push('said'))
  expect(said).toEqual(['said'])
})
