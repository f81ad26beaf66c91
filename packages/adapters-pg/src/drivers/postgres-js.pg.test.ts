import { describeDriver } from '@outlay/testing/conformance'
import pg from 'pg'
import postgresJs from 'postgres'
import { describe, expect, it } from 'vitest'
import { openPostgresJs, openSql, type SqlOptions } from '../../test/postgres-js-subjects.ts'
import { postgresJsDriver } from './postgres-js.ts'

/** Settings of hosts that change what a query of theirs sends or gives. */
const settings: Readonly<Record<string, SqlOptions>> = {
  defaults: {},
  'names, values and types of its own': {
    prepare: false,
    fetch_types: false,
    debug: () => undefined,
    transform: { ...postgresJs.camel, undefined: null, value: { from: () => 'mangled' } },
    types: {
      bigint: postgresJs.BigInt,
      json: { to: 114, from: [114, 3802], serialize: () => '"mangled"', parse: () => 'mangled' },
      text: { to: 25, from: [25], serialize: String, parse: () => 'mangled' },
    },
  },
}

describe.each(Object.entries(settings))('an instance with %s', (name, options) => {
  describeDriver(`postgres.js, ${name}`, (url) => openPostgresJs(url, options))
})

it.each<[string, SqlOptions]>([
  ['of rows', { transform: { row: (row: object) => row } } as SqlOptions],
  ['of columns without its reverse', { transform: { column: (name: string) => name.toUpperCase() } } as SqlOptions],
])('refuses an instance with a transform %s', (_, options) => {
  const pool = new pg.Pool()
  const sql = openSql('postgres://localhost/none', options)
  expect(() => postgresJsDriver({ sql, pool })).toThrow(
    expect.objectContaining({ code: 'invalid_request', field: 'sql' }),
  )
})
