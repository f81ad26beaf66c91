import { describe, expect, it } from 'vitest'
import { parseLinkTokenRequest, parseRegisterAccountRequest } from './bank-link.ts'

describe('parseLinkTokenRequest', () => {
  it('accepts every member, and none', () => {
    const body = {
      legal_name: 'Ada Lovelace',
      email_address: 'ada@example.com',
      phone_number: '+1 555 0100',
      date_of_birth: '1990-02-28',
    }
    expect(parseLinkTokenRequest(body)).toEqual({
      legalName: 'Ada Lovelace',
      emailAddress: 'ada@example.com',
      phoneNumber: '+1 555 0100',
      dateOfBirth: '1990-02-28',
    })
    expect(parseLinkTokenRequest({})).toEqual({})
    expect(parseLinkTokenRequest(undefined)).toEqual({})
  })

  it.each(['1990-02-30', '90-02-28', '1990-2-8', 'x'])('refuses %s as a date', (date) => {
    expect(() => parseLinkTokenRequest({ date_of_birth: date })).toThrow(
      expect.objectContaining({ code: 'invalid_request', field: 'date_of_birth' }),
    )
  })
})

describe('parseRegisterAccountRequest', () => {
  it('requires a public token, and accepts a URL for notices', () => {
    expect(parseRegisterAccountRequest({ public_token: 'p' })).toEqual({ publicToken: 'p' })
    expect(parseRegisterAccountRequest({ public_token: 'p', customer_webhook_url: 'https://example.com/x' })).toEqual({
      publicToken: 'p',
      customerWebhookUrl: 'https://example.com/x',
    })
    expect(() => parseRegisterAccountRequest({})).toThrow(expect.objectContaining({ code: 'missing_field' }))
  })

  it.each(['ftp://example.com', 'example.com', 'javascript:alert(1)'])('refuses the URL %s', (url) => {
    expect(() => parseRegisterAccountRequest({ public_token: 'p', customer_webhook_url: url })).toThrow(
      expect.objectContaining({ field: 'customer_webhook_url' }),
    )
  })
})
