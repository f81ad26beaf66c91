/** A host whose handler ends the process, soon, on any event of the account `deadly`. Arguments: the database. */
import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import pg from 'pg'
import { postgres } from '../src/backend.ts'
import { pgDriver } from '../src/drivers/pg.ts'

const pool = new pg.Pool({ connectionString: process.argv[2], max: 20 })
const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memoryGateway() })
engine.subscribe('books', ['transfer.enqueued'], async ({ accountId }) => {
  if (accountId !== 'deadly') return
  setTimeout(() => process.exit(1), 5)
  await new Promise(() => undefined)
})
await engine.start()
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
