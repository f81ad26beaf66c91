import { createCatalog } from '@outlay/core'
import { expect, test } from 'vitest'
import { decodeAddress } from './address.ts'
import { decodeAutomation } from './automation.ts'
import { decodeBalance } from './balance.ts'
import { decodeFinancialInstitution } from './financial-institution.ts'
import { decodeTransfer } from './transfer.ts'

const catalog = createCatalog({
  valueTypes: [{ name: 'EURC', kind: 'token', scale: 6 }],
  transferTypes: [
    { name: 'unichain', family: 'evm', expectedMs: 1_000, aliases: ['uni_chain'] },
    { name: 'sepa', family: 'bank', expectedMs: 1_000, valueTypes: ['USD'], aliases: ['sepa_credit'] },
  ],
})

const leg = { address_id: 'a', value_type: 'eurc', transfer_type: 'UniChain' }
const canonical = { valueType: 'EURC', transferType: 'unichain' }
const at = '2026-01-02T03:04:05Z'

test('the types that a host adds to the catalog are read in their canonical spelling everywhere', () => {
  const amount = { value: '5', currency: 'eurc' }
  const transfer = { id: 't', status: 'pending', amount, source: leg, destination: leg, created_at: at }
  expect(decodeTransfer(transfer, catalog)).toMatchObject({
    amount: { currency: 'EURC' },
    source: canonical,
    destination: canonical,
  })
  expect(decodeBalance({ ...leg, balance: amount }, catalog)).toMatchObject({
    ...canonical,
    balance: { currency: 'EURC' },
  })
  const automation = { id: 'm', status: 'active', destination: leg, created_at: at }
  expect(decodeAutomation(automation, catalog).destination).toMatchObject(canonical)
  const address = { id: 'a', type: 'external', transfer_types: ['uni_chain'] }
  expect(decodeAddress(address, catalog).transferTypes).toEqual(['unichain'])
  expect(decodeFinancialInstitution({ id: 'f', transfer_type: ['sepa_credit'] }, catalog).transferTypes).toEqual([
    'sepa',
  ])
})

test('unknown types are read unchanged', () => {
  const address = { id: 'a', type: 'external', transfer_types: ['uni_chain'] }
  expect(decodeAddress(address).transferTypes).toEqual(['uni_chain'])
})
