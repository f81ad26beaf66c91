import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import pg from 'pg'

// A worker of a host in a process of its own. Its gateway never answers, so that its transfers are under way when it is killed.
const driver = pgDriver(new pg.Pool({ connectionString: process.env['DATABASE_URL'] }))
const gateway = { ...memoryGateway(), submit: () => new Promise<never>(() => {}) }
await createEngine({ backend: postgres({ driver }), gateway }).start()
console.log(JSON.stringify({ ready: true }))
