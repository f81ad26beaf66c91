import { describe, expect, it } from 'vitest'
import { defaultCatalog } from './catalog.ts'
import { Counterparty } from './counterparty.ts'
import { fingerprint } from './idempotency.ts'
import { parseTransferOrder } from './transfer-request.ts'

const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
const bank = {
  owner: 'Ada Lovelace',
  name: 'Ada',
  accountNumber: '1234567890',
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
  transferTypes: ['ach_credit'],
}
const body = (details: object = {}) => ({
  amount: { value: '10.00', currency: 'USD' },
  source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
  destination: { address: { ...bank, ...details }, valueType: 'USD', transferType: 'ach_credit' },
})
const split = (details?: object) => Counterparty.split(parseTransferOrder(body(details), defaultCatalog))

describe('a counterparty', () => {
  it('is split from its order, which keeps a summary without bank details', () => {
    const { request, details } = split()
    expect(details?.address).toEqual({ kind: 'bank_account', ...bank })
    expect(request.destination).toEqual({
      address: {
        kind: 'bank_account',
        name: 'Ada',
        lastFour: '7890',
        transferTypes: ['ach_credit'],
        fingerprint: details?.fingerprint,
      },
      valueType: 'USD',
      transferType: 'ach_credit',
    })
  })

  it.each([
    ['12345678', '5678'],
    ['1234567', '567'],
    ['12345', '5'],
    ['1234', ''],
  ])('hides at least four digits of %s', (accountNumber, lastFour) => {
    expect(split({ accountNumber }).request.destination.address?.lastFour).toBe(lastFour)
  })

  it('is known by the end of its address when it is a wallet', () => {
    const address = { name: 'Grace', address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359', transferTypes: ['base'] }
    const destination = { address, valueType: 'USDC', transferType: 'base' }
    const { request } = Counterparty.split(parseTransferOrder({ ...body(), destination }, defaultCatalog))
    expect(request.destination.address).toMatchObject({ kind: 'wallet', name: 'Grace', lastFour: 'd359' })
  })

  it('leaves the order alone when the destination is given by its id', () => {
    const destination = { addressId: 'bank', valueType: 'USD', transferType: 'ach_credit' }
    const order = { ...body(), destination }
    const { request, details } = Counterparty.split(parseTransferOrder(order, defaultCatalog))
    expect(request).toEqual(order)
    expect(details).toBeUndefined()
    expect(Counterparty.fingerprintOf(request)).toBe(fingerprint(order))
  })

  it('is covered whole by the fingerprint of its request', () => {
    const original = Counterparty.fingerprintOf(split().request)
    expect(Counterparty.fingerprintOf(split().request)).toBe(original)
    const others = [
      { accountNumber: '1234567891' },
      { accountNumber: '9994567890' },
      { routingNumber: '011000015' },
      { owner: 'Ada King' },
      { name: 'Ada K' },
      { accountType: 'savings' },
      { bankAddress: { ...place, zip: '78702' } },
      { beneficiaryAddress: { ...place, city: 'Dallas' } },
      { transferTypes: ['ach_credit', 'wire'] },
    ]
    const prints = others.map((details) => Counterparty.fingerprintOf(split(details).request))
    expect(new Set([original, ...prints]).size).toBe(others.length + 1)
  })

  it('does not change the fingerprint of its request when it is registered', () => {
    const { request } = split()
    const registered = { ...request, destination: { ...request.destination, addressId: 'a-1' } }
    expect(Counterparty.fingerprintOf(registered)).toBe(Counterparty.fingerprintOf(request))
    expect(Counterparty.registered(request)).toBeUndefined()
    expect(Counterparty.registered(registered)).toEqual({
      ...body(),
      destination: { addressId: 'a-1', valueType: 'USD', transferType: 'ach_credit' },
    })
  })
})
