import { describe, expect, it } from 'vitest'
import { Account, accountStatuses } from './account.ts'

describe('Account', () => {
  it('moves money only when its onboarding is complete', () => {
    expect(accountStatuses.filter(Account.isReady)).toEqual(['complete'])
  })

  it('is decided once, and may be decided again', () => {
    expect(Account.allows('pending', 'complete')).toBe(true)
    expect(Account.allows('complete', 'rejected')).toBe(true)
    expect(Account.allows('complete', 'pending')).toBe(false)
  })

  it('knows tax identifiers by their form', () => {
    expect(Account.isEin('12-3456789')).toBe(true)
    expect(Account.isEin('123456789')).toBe(true)
    expect(Account.isEin('123-45-6789')).toBe(false)
    expect(Account.isSsn('123-45-6789')).toBe(true)
    expect(Account.isSsn('12-3456789')).toBe(false)
    expect(Account.isSsn(123456789)).toBe(false)
  })

  it('shows the last four digits only', () => {
    expect(Account.maskEin('12-3456789')).toBe('**-***6789')
    expect(Account.maskSsn('123-45-6789')).toBe('***-**-6789')
  })
})
