import type { Client } from '../src/client.ts'

/** The account of every call. */
export const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

/** Any other resource. */
export const id = '01BX5ZZKBKACTAV9WEVGEMMVS0'

const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
const bankAccount = {
  owner: 'Ada',
  accountNumber: '1234567890',
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
} as const
const leg = { addressId: id, valueType: 'USDC', transferType: 'base' }
const bank = { addressId: '2VfUX0sTIvUqLYkHYyWAXXqzVw1', valueType: 'USD', transferType: 'wire' }
const business = {
  businessName: 'Acme',
  ein: '12-3456789',
  address: place,
  phoneNumber: '+15125550100',
  email: 'a@acme.test',
  website: 'https://acme.test',
  ultimateBeneficialOwners: [],
  businessController: { name: 'Ada', ssn: '123-45-6789', address: place },
  tosAttestation: { acceptedAt: '2026-04-02T03:04:05Z', ip: '192.0.2.1', userAgent: 'browser', version: '1' },
}

const all = async (iterable: AsyncIterable<unknown>) => {
  const items: unknown[] = []
  for await (const item of iterable) items.push(item)
  return items
}

/** One call of each method, with arguments that pass the client's own checks. */
export const everyMethod: Readonly<Record<string, Readonly<Record<string, (client: Client) => Promise<unknown>>>>> = {
  accounts: {
    create: ({ accounts }) => accounts.create(accountId, business),
    get: ({ accounts }) => accounts.get(accountId),
    list: ({ accounts }) => accounts.list(accountId),
  },
  addresses: {
    createExternal: ({ addresses }) =>
      addresses.createExternal(accountId, { ...bankAccount, name: 'Payroll', transferTypes: ['wire'] }),
    createInternal: ({ addresses }) =>
      addresses.createInternal(accountId, { name: 'Savings', transferTypes: ['base', 'polygon'] }),
    createUpdateLinkToken: ({ addresses }) => addresses.createUpdateLinkToken(accountId, id),
    get: ({ addresses }) => addresses.get(accountId, id),
    list: ({ addresses }) => addresses.list(accountId),
    iterate: ({ addresses }) => all(addresses.iterate(accountId)),
    listAll: ({ addresses }) => addresses.listAll(accountId),
    update: ({ addresses }) => addresses.update(accountId, id, { transferTypes: ['polygon'] }),
  },
  automations: {
    create: ({ automations }) =>
      automations.create(accountId, { name: 'Treasury', source: { valueType: 'USD' }, destination: leg }),
    get: ({ automations }) => automations.get(accountId, id),
    list: ({ automations }) => automations.list(accountId),
    iterate: ({ automations }) => all(automations.iterate(accountId)),
    update: ({ automations }) => automations.update(accountId, id, { status: 'archived' }),
  },
  balances: {
    list: ({ balances }) => balances.list(accountId),
    listAll: ({ balances }) => balances.listAll(accountId),
    get: ({ balances }) => balances.get(accountId, id, leg),
  },
  bankLinks: {
    createLinkToken: ({ bankLinks }) => bankLinks.createLinkToken(accountId),
    registerAccount: ({ bankLinks }) => bankLinks.registerAccount(accountId, { publicToken: 'public-1' }),
  },
  financialInstitutions: {
    createExternal: ({ financialInstitutions }) => financialInstitutions.createExternal(accountId, bankAccount),
    get: ({ financialInstitutions }) => financialInstitutions.get(accountId, id),
    list: ({ financialInstitutions }) => financialInstitutions.list(accountId),
    iterate: ({ financialInstitutions }) => all(financialInstitutions.iterate(accountId)),
    getStatus: ({ financialInstitutions }) => financialInstitutions.getStatus(accountId, id),
    createUpdateLinkToken: ({ financialInstitutions }) => financialInstitutions.createUpdateLinkToken(accountId, id),
  },
  quotes: {
    create: ({ quotes }) =>
      quotes.create(accountId, {
        amount: { value: '1', currency: 'USDC' },
        source: { valueType: 'USDC' },
        destination: { valueType: 'MXN' },
      }),
    get: ({ quotes }) => quotes.get(accountId, id),
    list: ({ quotes }) => quotes.list(accountId),
    iterate: ({ quotes }) => all(quotes.iterate(accountId)),
  },
  transfers: {
    create: ({ transfers }) =>
      transfers.create(accountId, { amount: { value: '1', currency: 'USD' }, source: leg, destination: bank }),
    get: ({ transfers }) => transfers.get(accountId, id),
    cancel: ({ transfers }) => transfers.cancel(accountId, id),
    list: ({ transfers }) => transfers.list(accountId),
    iterate: ({ transfers }) => all(transfers.iterate(accountId)),
  },
  webhooks: {
    create: ({ webhooks }) => webhooks.create(accountId, { url: 'https://example.com/hook' }),
    get: ({ webhooks }) => webhooks.get(accountId, id),
    list: ({ webhooks }) => webhooks.list(accountId),
    update: ({ webhooks }) => webhooks.update(accountId, id, { status: 'active' }),
    rotate: ({ webhooks }) => webhooks.rotate(accountId, id),
    remove: ({ webhooks }) => webhooks.remove(accountId, id),
    listEventTypes: ({ webhooks }) => webhooks.listEventTypes(accountId),
    listDeliveries: ({ webhooks }) => webhooks.listDeliveries(accountId),
    iterateDeliveries: ({ webhooks }) => all(webhooks.iterateDeliveries(accountId)),
    resend: ({ webhooks }) => webhooks.resend(accountId, id),
  },
}
