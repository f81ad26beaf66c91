import { describe, expect, it } from 'vitest'
import type { AddressRecord } from './address.ts'
import { FinancialInstitution } from './financial-institution.ts'

const postal = { streetLine1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' }
const record: AddressRecord = {
  id: 'fi',
  type: 'external',
  status: 'active',
  name: 'Acme operating',
  address: '',
  transferTypes: ['ach_debit'],
  created: '2026-01-01T00:00:00.000Z',
  owner: 'Acme Inc',
  accountType: 'checking',
  bankAddress: postal,
  beneficiaryAddress: postal,
  routingNumber: '021000021',
  accountNumber: '****7890',
}

describe('FinancialInstitution.ofAddress', () => {
  it('is a view over a bank address', () => {
    expect(FinancialInstitution.ofAddress(record)).toEqual({
      id: 'fi',
      name: 'Acme operating',
      status: 'active',
      transferTypes: ['ach_debit'],
      bankDetails: {
        owner: 'Acme Inc',
        accountNumber: '****7890',
        routingNumber: '021000021',
        name: 'Acme operating',
        accountType: 'checking',
        address: postal,
      },
    })
  })

  it('says when its owner has to link it again', () => {
    const view = FinancialInstitution.ofAddress(record, true)
    expect(view?.status).toBe('login_required')
    expect(FinancialInstitution.needsUpdate('login_required')).toBe(true)
    expect(FinancialInstitution.needsUpdate('active')).toBe(false)
    expect(FinancialInstitution.ofAddress({ ...record, status: 'archived' }, true)?.status).toBe('archived')
  })

  it('is nothing for a wallet', () => {
    const { routingNumber: _, ...wallet } = record
    expect(FinancialInstitution.ofAddress(wallet)).toBeUndefined()
  })
})
