import { expectTypeOf, test } from 'vitest'
import type { EnqueueRequest } from './engine.ts'

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
