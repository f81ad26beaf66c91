import { describe, expect, it } from 'vitest'
import { parseAutomationRequest } from './automation.ts'
import { parseLinkTokenRequest, parseRegisterAccountRequest } from './bank-link.ts'
import { defaultCatalog } from './catalog.ts'
import { OutlayError } from './error.ts'
import { parseExternalAddress } from './external-address.ts'
import { parseTransferOrder, parseTransferRequest } from './transfer-request.ts'

type Body = Readonly<Record<string, unknown>>

const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
const bank = {
  ...{ owner: 'Ada Lovelace', name: 'Ada', accountType: 'checking', transferTypes: ['wire'] },
  ...{ accountNumber: '1234567890', routingNumber: '021000021', bankAddress: place, beneficiaryAddress: place },
}
const wallet = { addressId: 'w', valueType: 'USDC', transferType: 'base' }
const amount = { value: '10', currency: 'USD' }
const destination = { addressId: 'b', valueType: 'USD', transferType: 'wire', wireMemo: 'x' }

/** Every input of this package that is read in two spellings. */
const inputs: readonly (readonly [string, (body: unknown) => unknown, Body])[] = [
  ['a transfer', (body) => parseTransferRequest(body, defaultCatalog), { amount, source: wallet, destination }],
  [
    'a transfer to somebody new',
    (body) => parseTransferOrder(body, defaultCatalog),
    { amount, source: wallet, destination: { address: bank, valueType: 'USD', transferType: 'wire' } },
  ],
  ['an address', (body) => parseExternalAddress(body, defaultCatalog), bank],
  [
    'an automation',
    (body) => parseAutomationRequest(body, defaultCatalog),
    { name: 'a', source: { valueType: 'USD' }, destination: wallet },
  ],
  ['a link token', (body) => parseLinkTokenRequest(body), { legalName: 'Ada' }],
  ['a registration', (body) => parseRegisterAccountRequest(body), { publicToken: 'p' }],
]

const snake = (name: string) => name.replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`)

/** The body with one member in both spellings, for each member of two words, and the path of that member. */
function doubled(body: Body, other: (value: unknown) => unknown, prefix = ''): (readonly [string, Body])[] {
  return Object.entries(body).flatMap(([name, value]) => {
    const isInner = typeof value === 'object' && value !== null && !Array.isArray(value)
    const inner = isInner ? doubled(value as Body, other, `${prefix}${name}.`) : []
    const deeper = inner.map(([path, changed]) => [path, { ...body, [name]: changed }] as const)
    const two = snake(name) === name ? [] : [[prefix + name, { ...body, [snake(name)]: other(value) }] as const]
    return [...two, ...deeper]
  })
}

describe.each([
  ['other', () => 'other'],
  ['equal', (value: unknown) => value],
  ['null', () => null],
])('a member in both spellings with %s values', (_, other) => {
  it.each(inputs)('is refused in %s', (_, parse, body) => {
    expect(() => parse(body)).not.toThrow()
    const cases = doubled(body, other)
    expect(cases.length).toBeGreaterThan(0)
    for (const [path, twice] of cases) {
      const refusal = catching(() => parse(twice))
      expect(refusal?.issues).toContainEqual({
        field: path,
        code: 'invalid_request',
        message: 'is there in both spellings; send one of them',
      })
    }
  })
})

it('a member that is undefined in one spelling is there in the other', () => {
  const body = { amount, source: { ...wallet, address_id: undefined }, destination }
  expect(parseTransferRequest(body, defaultCatalog).source).toMatchObject({ addressId: 'w' })
})

function catching(run: () => unknown): OutlayError | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (OutlayError.is(error)) return error
    throw error
  }
}
