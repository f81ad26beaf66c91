import { getConstructionPlans } from 'pg-boss'
import { describe, expect, it } from 'vitest'
import { queueInstallSql } from './queue-schema.ts'

describe('the SQL that creates the queue', () => {
  it.each(['outlay_queue', 'q', 'pgboss', 'a'.repeat(50)])('is that of pg-boss for "%s"', (name) => {
    expect(queueInstallSql(name)).toBe(getConstructionPlans(name))
  })

  it('is refused for a name that pg-boss does not accept', () => {
    const name = 'a'.repeat(51)
    expect(() => getConstructionPlans(name)).toThrow()
    expect(() => queueInstallSql(name)).toThrow('queueSchema has at most 50 characters')
  })
})
