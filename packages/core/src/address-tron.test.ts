import { describe, expect, it } from 'vitest'
import { tronFamily } from './address-tron.ts'
import { OutlayError } from './error.ts'

/** The contract of a widely held token, and the address of twenty zeros. */
const published = ['TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb']
const family = tronFamily()

const codeOf = (value: string) => {
  try {
    return family.parse(value, 'address')
  } catch (error) {
    return OutlayError.is(error) ? `${error.code} ${error.field}` : 'another error'
  }
}

describe('the family of Tron', () => {
  it.each(published)('reads %s', (address) => {
    expect(codeOf(address)).toBe(address)
  })

  it.each([
    ['a changed character', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u', 'address_checksum_mismatch'],
    ['a character that is not of the alphabet', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj60', 'invalid_address'],
    ['an address of Bitcoin', '1BoatSLRHtKNngkdXEeobR76b53LETtpyT', 'invalid_address'],
    ['a shorter text', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6', 'invalid_address'],
    ['the hexadecimal form', '41a614f803b6fd780986a42c78ec9c7f77e6ded13c', 'invalid_address'],
  ])('refuses %s', (_, value, code) => {
    expect(codeOf(value)).toBe(`${code} address`)
  })

  it('writes what it reads', () => {
    expect(family.fromOctets(new Uint8Array(32))).toBe(published[1])
    const address = family.fromOctets(Uint8Array.from({ length: 32 }, (_, at) => 255 - at))
    expect(family.parse(address, 'address')).toBe(address)
  })
})
