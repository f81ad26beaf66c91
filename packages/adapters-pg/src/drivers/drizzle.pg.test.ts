import { describeDriver } from '@outlay/testing/conformance'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { postgres } from '../backend.ts'
import { type DrizzleTransaction, drizzleDriver } from './drizzle.ts'

const notes = pgTable('note', { id: text().primaryKey(), body: text() })
const schema = { notes }

describeDriver<DrizzleTransaction<typeof schema>>('drizzle', (url) => {
  const pool = new pg.Pool({ connectionString: url, max: 30 })
  const db = drizzle({ client: pool, schema })
  return {
    backend: postgres({ driver: drizzleDriver(db) }),
    transaction: (work) => db.transaction(work),
    nested: (tx, work) => tx.transaction(work),
    insertNote: (tx, id, body) => tx.insert(notes).values({ id, body }),
    close: () => pool.end(),
  }
})
