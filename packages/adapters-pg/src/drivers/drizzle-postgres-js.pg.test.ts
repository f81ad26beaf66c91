import { describeDriver } from '@outlay/testing/conformance'
import { drizzle } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import { expect, it } from 'vitest'
import { openDrizzlePostgresJs, openSql } from '../../test/postgres-js-subjects.ts'
import { drizzlePostgresJsDriver } from './drizzle-postgres-js.ts'

describeDriver('drizzle over postgres.js', openDrizzlePostgresJs)

it.each([undefined, null, {}])('%s for a transaction is refused', async (tx) => {
  const db = drizzle({ client: openSql('postgres://localhost/none') })
  const driver = drizzlePostgresJsDriver({ db, pool: new pg.Pool() })
  const refused = driver.execute(tx as never, { name: 'one', text: 'select 1' }, [])
  await expect(refused).rejects.toMatchObject({ code: 'no_transaction', field: 'tx' })
})
