import { expectTypeOf, test } from 'vitest'
import type { Amount } from './amount.ts'
import { type CatalogExtension, createCatalog } from './catalog.ts'
import type { ExternalAddressDetails } from './external-address.ts'
import type { TransferOrder } from './transfer-request.ts'
import type { TransferTypeName } from './transfer-type.ts'
import type { ValueTypeName } from './value-type.ts'

declare const name: string

// Equal to string, they would be no list from which an editor proposes.
test('an editor proposes the names of the default catalog', () => {
  expectTypeOf<ValueTypeName>().toEqualTypeOf<
    'USD' | 'MXN' | 'USDC' | 'USDT' | 'PYUSD' | 'SBC' | 'YSBC' | (string & {})
  >()
  expectTypeOf<'same_day_ach_credit' | 'canton_testnet'>().toExtend<TransferTypeName>()
  expectTypeOf<TransferTypeName>().not.toEqualTypeOf<string>()
  expectTypeOf<Amount['currency']>().toEqualTypeOf<ValueTypeName>()
  expectTypeOf<TransferOrder['source']['valueType']>().toEqualTypeOf<ValueTypeName>()
  expectTypeOf<TransferOrder['source']['transferType']>().toEqualTypeOf<TransferTypeName>()
  expectTypeOf<TransferOrder['destination']['transferType']>().toEqualTypeOf<TransferTypeName>()
  expectTypeOf<ExternalAddressDetails['transferTypes']>().toEqualTypeOf<readonly TransferTypeName[]>()
})

test('names that a host adds are typed as well, and so are names that are known only at run time', () => {
  const extension: CatalogExtension = {
    valueTypes: [{ name: 'EUR', kind: 'fiat', scale: 2 }],
    transferTypes: [{ name: 'sepa', family: 'bank', expectedMs: 1000, valueTypes: ['EUR'] }],
  }
  expectTypeOf(createCatalog).toBeCallableWith(extension)
  expectTypeOf({ value: '1.00', currency: 'EUR' }).toExtend<Amount>()
  expectTypeOf({ addressId: 'a', valueType: 'EUR', transferType: 'sepa' }).toExtend<TransferOrder['destination']>()
  expectTypeOf({ addressId: 'a', valueType: name, transferType: name }).toExtend<TransferOrder['source']>()
  expectTypeOf<Amount['currency']>().toExtend<string>()
})
