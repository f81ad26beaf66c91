import { describeDriver } from '@outlay/testing/conformance'
import { CamelCasePlugin, type ControlledTransaction, Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { postgres } from '../backend.ts'
import { kyselyDriver } from './kysely.ts'

interface Database {
  note: { id: string; body: string }
}

describeDriver<Transaction<Database>>('kysely', (url) => {
  const pool = new pg.Pool({ connectionString: url, max: 30 })
  // The plugin renames the columns of every row, but for those of the engine.
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] })
  return {
    backend: postgres({ driver: kyselyDriver({ db, pool }) }),
    async transaction(work) {
      const tx = await db.startTransaction().execute()
      try {
        const result = await work(tx)
        await tx.commit().execute()
        return result
      } catch (error) {
        await tx.rollback().execute()
        throw error
      }
    },
    async nested(tx, work) {
      const inner = await (tx as ControlledTransaction<Database>).savepoint('inside').execute()
      try {
        const result = await work(inner)
        await inner.releaseSavepoint('inside').execute()
        return result
      } catch (error) {
        await inner.rollbackToSavepoint('inside').execute()
        throw error
      }
    },
    insertNote: (tx, id, body) => tx.insertInto('note').values({ id, body }).execute(),
    close: () => db.destroy(),
  }
})
