import { describe, expect, it } from 'vitest'
import { atGateway, readGatewayAccount } from '../gateway-account.ts'
import type { Gateway } from '../ports/gateway.ts'
import type { Environment } from '../transfer-type.ts'
import { type GatewayOptions, readGateways, routeTransfer } from './gateways.ts'
import { readVerifiers } from './webhooks.ts'

const gateway = (environment?: Environment): Gateway => ({
  environment,
  submit: () => Promise.reject(new Error('not here')),
  get: () => Promise.reject(new Error('not here')),
})
const [first, second] = [gateway(), gateway()]
const route = () => 'first'
const request = { accountId: 'acme' } as never

describe('the gateways of an engine', () => {
  it('are one, which is called default, or several with names and a route', () => {
    expect(readGateways({ gateway: first }).names).toEqual(['default'])
    expect(readGateways({ gateways: { first, second }, route }).names).toEqual(['first', 'second'])
    expect(readGateways({ gateways: { first } }).names).toEqual(['first'])
  })

  it.each<[string, GatewayOptions]>([
    ['give createEngine() a gateway, or several', {}],
    ['give createEngine() a gateway, or several', { gateway: first, gateways: { second } }],
    ['gateway: must be a gateway, such as httpGateway()', { gateway: {} as Gateway }],
    ['gateway: must be a gateway, such as httpGateway()', { gateway: null as never }],
    ['must have at least one gateway', { gateways: {} }],
    ['"a b" is no name of a gateway', { gateways: { 'a b': first } }],
    ['gateways.second: must be a gateway', { gateways: { first, second: {} as Gateway }, route }],
    ['route: must be a function that names the gateway', { gateways: { first, second } }],
    ['route: is for an engine with several gateways', { gateway: first, route }],
    ['failover: is for an engine with several gateways', { gateway: first, failover: () => 'second' }],
    ['failover: must be a function', { gateways: { first, second }, route, failover: 'second' as never }],
    ['route: must be a function', { gateways: { first, second }, route: 'first' as never }],
    ['are for different environments', { gateways: { a: gateway('testnet'), b: gateway('mainnet') }, route }],
  ])('are refused: %s', (message, options) => {
    expect(() => readGateways(options)).toThrow(message)
  })
})

describe('the route of a new transfer', () => {
  const gateways = readGateways({ gateways: { first, second }, route })
  const failing = () => {
    throw new Error('no idea')
  }

  it('names a gateway', () => {
    expect(routeTransfer(gateways, (_, accountId) => (accountId === 'acme' ? 'second' : 'first'), request, '')).toBe(
      'second',
    )
  })

  it.each<[string, () => unknown]>([
    ['route returned "third"; it names one of first, second', () => 'third'],
    ['route returned undefined', () => undefined],
    ['route returned a promise', async () => 'first'],
    ['route returned a promise', () => Promise.reject(new Error('late'))],
    ['route threw', failing],
  ])('is refused with the choices when it names none: %s', (message, answer) => {
    const run = () => routeTransfer(gateways, answer as typeof route, request, '3.')
    expect(run).toThrow(message)
    expect(run).toThrow(expect.objectContaining({ code: 'invalid_request', field: '3.gateway' }))
  })
})

describe('the verifiers of webhooks', () => {
  const verifier = { verify: async () => undefined }
  const read = (webhooks: unknown) => readVerifiers(webhooks as never, ['default', 'second'], (one) => one)

  it('are one for all gateways, or one each', () => {
    expect(read(undefined)).toBeUndefined()
    expect(read(verifier)?.('second')).toBe(verifier)
    expect(read({ second: verifier })?.('second')).toBe(verifier)
    expect(() => read({ second: verifier })?.('default')).toThrow('for the gateway "default"')
  })

  it.each<[string, string, unknown]>([
    ['webhooks', 'must be a verifier', {}],
    ['webhooks', 'must be a verifier', 'x'],
    ['webhooks', 'must be a verifier', null],
    ['webhooks.defualt', 'is no gateway; there are default, second', { defualt: verifier }],
    ['webhooks.default', 'must be a verifier, with a function verify', { default: 5 }],
    ['webhooks.second', 'must be a verifier, with a function verify', { default: verifier, second: undefined }],
  ])('are refused: %s %s', (field, message, webhooks) => {
    expect(() => read(webhooks)).toThrow(expect.objectContaining({ code: 'invalid_request', field }))
    expect(() => read(webhooks)).toThrow(message)
  })
})

it('an account at a gateway is one text, which is the id alone at the default one', () => {
  for (const gateway of ['default', 'bank-2']) {
    const place = { gateway, accountId: 'acme' }
    expect(readGatewayAccount(atGateway(place))).toEqual(place)
  }
  expect(atGateway({ gateway: 'default', accountId: 'acme' })).toBe('acme')
  expect(atGateway({ gateway: 'bank-2', accountId: 'acme' })).toBe('bank-2 acme')
})
