import type { PostalAddress } from '@outlay/core'

/** Addresses that pass every checksum, two per family. No one has their keys. */
export const addresses = {
  /** With the EIP-55 checksum. */
  evm: ['0x7a39eB597c91da3F10f8702982a20372C2eb6499', '0xdE7A1aDc88C706C062A742F4419AA4903c0FebAf'],
  solana: ['EHbGTJVhQcUX4YNLbR9ZCrjwsUEGy7BBmb3AjK5TVqBs', 'B3cpUxWDhL22WBFtF3dJFrxeXZWTXWhbwmA3qFtLxuqQ'],
  stellar: [
    'GARLWY3EDWKOLICYPQN6IGTGPGM2PDEGRVPVCTC6JQIE5WBXBWFAWK2G',
    'GCAE2BBX6LOFE77F4V36HRDTU53PNB4DDYNTC4FQX2YPJDAN6NOSEEOC',
  ],
  xrp: ['rp91YPfYDDqhecygYsLqU73dhrLuDxbwCH', 'rE56QxNtSx6mZiEnCqdQ2Vgv825SsHNg4M'],
  canton: [
    'outlay-alice::1220737a92838529736cc3096cd1ca8332754590ed8896b21b85300d68c311f7c80f',
    'outlay-bob::122081f674314d29ffac441d9d890012a2e2a3860201f329ca2f158702994fda0661',
  ],
} as const

/** Addresses in the right format that fail their checksum or length. */
export const brokenAddresses = {
  /** One letter has the wrong case. */
  evm: '0x7A39eB597c91da3F10f8702982a20372C2eb6499',
  /** 31 octets. */
  solana: '1111111111111111111111111111111',
  /** The last character differs. */
  stellar: 'GARLWY3EDWKOLICYPQN6IGTGPGM2PDEGRVPVCTC6JQIE5WBXBWFAWK2H',
  xrp: 'rN7n3473SaZBCG4dFL83w7a1RXtXtbk2D9',
  /** The fingerprint is one character short. */
  canton: 'outlay-alice::1220737a92838529736cc3096cd1ca8332754590ed8896b21b85300d68c311f7c80',
} as const

/** Routing numbers with a right ABA checksum. */
export const routingNumbers = ['021000021', '071000013', '063108680', '011000015'] as const

/** Nine digits whose ABA checksum is wrong. */
export const brokenRoutingNumbers = ['123456789', '987654321', '000111222'] as const

/** US account numbers, 4 to 17 digits. */
export const accountNumbers = ['1234567890', '000123456789', '4321', '98765432109876543'] as const

/** Mexican account numbers with a right check digit. */
export const clabes = ['032180000118359719', '012180001234567899'] as const

/** A Mexican account number whose check digit is wrong. */
export const brokenClabe = '032180000118359718'

/** A postal address in the United States. */
export const postalAddress = {
  streetLine1: '1 Market Street',
  city: 'San Francisco',
  state: 'CA',
  zip: '94105',
  country: 'US',
} as const satisfies PostalAddress

/** A checking account as it is registered, for wires and ACH. */
export const usBankAccount = {
  owner: 'Ada Example',
  name: 'Operating account',
  accountNumber: accountNumbers[0],
  routingNumber: routingNumbers[0],
  accountType: 'checking',
  bankAddress: postalAddress,
  beneficiaryAddress: postalAddress,
  transferTypes: ['wire', 'ach_credit'],
} as const
