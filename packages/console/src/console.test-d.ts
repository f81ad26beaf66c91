import type { Driver } from '@outlay/adapters-pg'
import type { Engine } from '@outlay/core'
import { describe, expectTypeOf, it } from 'vitest'
import { type Authorization, type Authorize, createConsole } from './index.ts'

interface OneTransaction {
  readonly one: string
}
interface OtherTransaction {
  readonly other: string
}

declare const engine: Engine<OneTransaction>
declare const driver: Driver<OneTransaction>
declare const otherDriver: Driver<OtherTransaction>
declare const authorize: Authorize

describe('the console', () => {
  it('takes an engine and the driver of its backend', () => {
    const admin = createConsole({ engine, driver, authorize })
    expectTypeOf(admin.fetch).toEqualTypeOf<(request: Request) => Promise<Response>>()
    // @ts-expect-error A driver of another kind of transaction.
    createConsole({ engine, driver: otherDriver, authorize })
    // @ts-expect-error Nobody says who sends a request.
    createConsole({ engine, driver })
  })

  it('takes permissions that exist, about all accounts or a list of them', () => {
    expectTypeOf<{ actor: string; permissions: { read: 'all'; act: string[] } }>().toExtend<Authorization>()
    expectTypeOf<{ actor: string; permissions: { read: true } }>().not.toExtend<Authorization>()
    expectTypeOf<{ actor: string }>().not.toExtend<Authorization>()
    // @ts-expect-error A misspelt permission.
    const person: Authorization = { actor: 'ada', permissions: { aprove: 'all' } }
    expectTypeOf(person).toEqualTypeOf<Authorization>()
  })
})
