import { expect, it } from 'vitest'
import { readDatabase, readDatabaseOfProcess } from './settings.ts'

const parts = { PGHOST: 'db', PGUSER: 'outlay', PGDATABASE: 'payroll' }

it('a password of any characters stands in a variable of its own as it is', () => {
  expect(readDatabase({ ...parts, PGPASSWORD: 'p@ss/w:rd?#%20' })).toEqual({
    ...{ host: 'db', user: 'outlay', database: 'payroll', port: 5_432 },
    password: 'p@ss/w:rd?#%20',
  })
  expect(readDatabase({ DATABASE_URL: 'postgres://a/b', ...parts })).toEqual({ connectionString: 'postgres://a/b' })
})

it('what is missing of a database is named', () => {
  expect(() => readDatabase({})).toThrow('Neither DATABASE_URL nor PGHOST is set.')
  expect(() => readDatabase({ ...parts, PGUSER: '' })).toThrow('PGUSER is not set.')
  expect(() => readDatabase({ ...parts, PGPORT: 'x' })).toThrow('PGPORT')
})

it('a process that runs waits for no answer for ever, and a migration may take its time', () => {
  expect(readDatabaseOfProcess(parts)).toMatchObject({ connectionTimeoutMillis: 10_000, query_timeout: 60_000 })
  expect(readDatabase(parts)).not.toHaveProperty('query_timeout')
})
