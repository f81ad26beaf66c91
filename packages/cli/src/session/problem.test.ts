import { OutlayError } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { explain, Refusal, Unfinished } from './problem.ts'

describe('a problem', () => {
  it('says what to do next for every failure', () => {
    const failures: unknown[] = [
      new Refusal('No.', 'Do this.'),
      new OutlayError('not_migrated', 'lacks 0001'),
      Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
      Object.assign(new Error('permission denied'), { code: '42501' }),
      new Error('odd'),
      'a string',
      null,
    ]
    for (const failure of failures) expect(explain(failure).next).toMatch(/\.$/)
    expect(explain(failures[1])).toMatchObject({
      code: 'not_migrated',
      next: expect.stringContaining('outlay migrate'),
    })
    expect(explain(failures[3])).toMatchObject({ code: '42501', message: expect.stringContaining('permission denied') })
  })

  it('is found inside an error of several addresses, which has no message itself', () => {
    const inner = Object.assign(new Error('connect ECONNREFUSED ::1:5432'), { code: 'ECONNREFUSED' })
    expect(explain(new AggregateError([inner], ''))).toMatchObject({
      code: 'ECONNREFUSED',
      message: 'No server answers there. (connect ECONNREFUSED ::1:5432)',
    })
  })

  it('behind a lock says that nothing was changed, or what was', () => {
    const locked = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
    expect(explain(locked).message).toContain('NOTHING was stopped')
    const { code, message } = explain(new Unfinished('The history of 2 transfers was archived before.', locked))
    expect([
      code,
      message.endsWith('(canceling statement due to lock timeout) The history of 2 transfers was archived before.'),
    ]).toEqual(['55P03', true])
  })
})
