import process from 'node:process'
import { postgres } from '@outlay/adapters-pg'
import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import { crashPoints } from '@outlay/testing'
import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { createPayouts } from './payouts.ts'

/** The worker of the host, as tests start it: with points at which it can be killed. */
const { DATABASE_URL, SERVICE_URL = '', CREDENTIALS = '' } = process.env
const crash = crashPoints(process.env)
const db = drizzle({ client: new pg.Pool({ connectionString: DATABASE_URL }) })
const backend = postgres({ driver: crash.driver(drizzleDriver(db)) })
const gateway = httpGateway({
  baseUrl: SERVICE_URL,
  credentials: JSON.parse(CREDENTIALS),
  keyLifetimeMs: outlayKeyLifetimeMs,
})

const engine = createPayouts(crash.engine({ backend, gateway }))
await engine.start()
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
