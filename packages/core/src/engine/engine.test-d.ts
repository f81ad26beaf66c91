import { expectTypeOf, test } from 'vitest'
import type { EventType } from '../event.ts'
import type { TransferEvent } from '../ports/handlers.ts'
import type { ReturnedAmount } from '../transfer-return.ts'
import type { Engine, EnqueueRequest } from './engine.ts'

const leg = { valueType: 'USDC', transferType: 'base' } as const
const address = { name: 'Ada', address: '0x1', transferTypes: ['base'] } as const

test('a destination is given by its id or whole, exactly one of the two', () => {
  expectTypeOf({ ...leg, addressId: 'a' }).toExtend<EnqueueRequest['destination']>()
  expectTypeOf({ ...leg, address }).toExtend<EnqueueRequest['destination']>()
  expectTypeOf({ ...leg, address, addressId: 'a' }).not.toExtend<EnqueueRequest['destination']>()
  expectTypeOf(leg).not.toExtend<EnqueueRequest['destination']>()
})

test('a source is given by its id', () => {
  expectTypeOf<EnqueueRequest['source']>().not.toHaveProperty('address')
})

declare const engine: Engine<object>
declare const types: readonly EventType[]

test('a handler gets the types of event that it subscribes to', () => {
  engine.subscribe('a', ['transfer.completed', 'transfer.failed'], async ({ type }) => {
    expectTypeOf(type).toEqualTypeOf<'transfer.completed' | 'transfer.failed'>()
  })
  engine.subscribeMany('b', ['transfer.returned'], async (events) => {
    expectTypeOf(events).toEqualTypeOf<readonly TransferEvent<'transfer.returned'>[]>()
  })
})

test('an event of a return has what came back, and no other event has', () => {
  engine.subscribe('a', ['transfer.returned'], async ({ returned }) => {
    expectTypeOf(returned).toEqualTypeOf<ReturnedAmount>()
  })
  engine.subscribe('b', ['transfer.failed', 'transfer.returned'], async (event) => {
    if (event.type === 'transfer.returned') expectTypeOf(event.returned).toEqualTypeOf<ReturnedAmount>()
    else expectTypeOf(event.returned).toEqualTypeOf<undefined>()
  })
  engine.subscribeMany('c', types, async ([event]) => {
    expectTypeOf(event?.returned).toEqualTypeOf<ReturnedAmount | undefined>()
  })
})

test('a handler of any event takes part in any subscription, and types may be known only at run time', () => {
  const handle = async ({ type }: TransferEvent) => expectTypeOf(type).toEqualTypeOf<EventType>() as never
  engine.subscribe('a', ['transfer.completed'], handle)
  engine.subscribe('b', types, handle)
  engine.subscribe('c', types, async ({ type }) => {
    expectTypeOf(type).toEqualTypeOf<EventType>()
  })
  // @ts-expect-error a handler of one type alone does not handle the other
  engine.subscribe('d', ['transfer.completed', 'transfer.failed'], async (_: TransferEvent<'transfer.failed'>) => {})
  // @ts-expect-error there is no such type
  engine.subscribe('e', ['transfer.complete'], async () => {})
})
