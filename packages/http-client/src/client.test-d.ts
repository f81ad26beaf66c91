import type { Gateway, Transfer } from '@outlay/core'
import { expectTypeOf, test } from 'vitest'
import type { Client } from './client.ts'
import type { httpGateway } from './gateway.ts'
import type { ReadAutomation } from './wire/automation.ts'
import type { WithRaw } from './wire/json.ts'

test('the gateway is the one of the engine', () => {
  expectTypeOf<ReturnType<typeof httpGateway>>().toEqualTypeOf<Gateway>()
})

test('a transfer and an automation come out canonical, with what was sent beside it', () => {
  expectTypeOf<Awaited<ReturnType<Client['transfers']['get']>>>().toEqualTypeOf<WithRaw<Transfer> | undefined>()
  expectTypeOf<Awaited<ReturnType<Client['automations']['get']>>>().toEqualTypeOf<WithRaw<ReadAutomation> | undefined>()
  expectTypeOf<WithRaw<Transfer>['raw']>().toEqualTypeOf<unknown>()
})

test('money is never a number', () => {
  type Request = Parameters<Client['transfers']['create']>[1]
  expectTypeOf<Request['amount']['value']>().toEqualTypeOf<string>()
})
