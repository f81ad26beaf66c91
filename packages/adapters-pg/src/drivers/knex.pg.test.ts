import { describeDriver } from '@outlay/testing/conformance'
import knex, { type Knex } from 'knex'
import { describe } from 'vitest'
import { postgres } from '../backend.ts'
import { knexDriver } from './knex.ts'

describe.each([{ prepared: true }, { prepared: false }])('with the options %j', (options) => {
  describeDriver<Knex.Transaction>('knex', (url) => {
    // The hooks mangle every answer and name, but for those of the engine.
    const db = knex({
      client: 'pg',
      connection: url,
      pool: { max: 30 },
      postProcessResponse: () => 'mangled',
      wrapIdentifier: (name, wrap) => wrap(name.replace('camelNote', 'note')),
    })
    return {
      backend: postgres({ driver: knexDriver(db, options) }),
      transaction: (work) => db.transaction(work),
      nested: (tx, work) => tx.transaction(work),
      insertNote: (tx, id, body) => tx('camelNote').insert({ id, body }),
      close: () => db.destroy(),
    }
  })
})
