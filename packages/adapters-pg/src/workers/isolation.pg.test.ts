import { createEngine } from '@outlay/core'
import { memoryGateway, recordingLogger } from '@outlay/testing'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('workers whose connections are above read committed', async () => {
  const { database } = await testHost()

  it.each([
    ['serializable', 1],
    ['read committed', 0],
  ])('say so at their start: %s', async (isolation, count) => {
    const options = `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`
    const pool = new pg.Pool({ connectionString: database.url, options })
    const logger = recordingLogger()
    const engine = createEngine({ backend: postgres({ driver: pgDriver(pool), logger }), gateway: memoryGateway() })
    await engine.start()
    await engine.stop()
    await pool.end()
    const warnings = logger.entries.filter(({ message }) => message.includes('read committed'))
    expect(warnings.map(({ fields }) => fields)).toEqual(Array.from({ length: count }, () => ({ isolation })))
  })
})
