/** Example answers of the contract, in the forms of both of its documents. Ids have 26 or 27 characters. */
const account = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const wallet = '01BX5ZZKBKACTAV9WEVGEMMVS0'
const bank = '2VfUX0sTIvUqLYkHYyWAXXqzVw1'
const at = '2026-04-02T03:04:05.678901Z'
const later = '2026-04-02T03:05:05.678901Z'

const place = { street_line_1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }

const instructions = {
  beneficiary_name: 'Acme',
  bank_name: 'Bank',
  bank_address: '1 Main St',
  account_number: '123456',
  routing_number: 21000021,
  beneficiary_address: '2 Main St',
  memo: null,
}

export const created = { id: '2VfUX0sTIvUqLYkHYyWAXXqzVw0' }

export const summary = { id: account, name: 'Acme', status: 'complete', created: at, updated: later }

export const transfer = {
  id: '2VfUX0sTIvUqLYkHYyWAXXqzVw2',
  status: 'processing',
  failure: null,
  amount: { value: '1250.00', currency: 'usd' },
  source: { address_id: wallet, value_type: 'dUSD', transfer_type: 'base', transaction_id: '0xabc' },
  destination: { address_id: bank, value_type: 'usd', transfer_type: 'wire', memo: 'invoice 7' },
  note: null,
  created_at: at,
  updated_at: later,
  funding_simulated: false,
  requested_transfer_type: 'wire',
}

/** Failed transfers, with a failure in each of its forms. */
export const failures = [
  { failure: 'nonce too low', source: { ...transfer.source, value_type: 'MXNe' } },
  { failure: { type: 'chain', occurred_at: at, retriable: true }, source: { ...transfer.source, value_type: 'USD+' } },
  {
    failure: {
      type: 'ach',
      occurred_at: at,
      retriable: false,
      ach_return: { code: 'R03', reason: 'No account', category: 'administrative' },
    },
  },
  {
    failure: { errors: [{ code: 'compliance', status: '422', title: 'Compliance', detail: 'Refused by compliance.' }] },
  },
].map((members, index) => ({ ...transfer, ...members, id: `2VfUX0sTIvUqLYkHYyWAXXqzF0${index}`, status: 'failed' }))

export const walletAddress = {
  id: wallet,
  type: 'internal',
  status: 'active',
  name: 'Wallet',
  address: '0x0000000000000000000000000000000000000001',
  transfer_types: ['base', 'polygon'],
  is_primary: true,
  needs_update: false,
  created: at,
  last_updated: later,
}

/** A bank row without a type, with the member that the contract spells so. */
export const bankAddress = {
  id: bank,
  status: 'active',
  name: 'Payroll',
  address: null,
  transfer_types: ['ach_debit'],
  is_primary: false,
  needs_update: true,
  created: at,
  last_updated: later,
  ownership: 'customer-owned',
  owner: 'Ada',
  account_number: '****7890',
  routingNumber: '021000021',
  account_type: 'checking',
  bank_address: place,
  beneficiary_address: place,
}

export const balance = {
  address: { id: wallet, address: walletAddress.address },
  balance: { value: '7.5', currency: 'USDC' },
  value_type: 'USDC',
  transfer_type: 'base',
}

const target = { address_id: wallet, value_type: 'SBC', transfer_type: 'base' }

export const automation = {
  id: '2VfUX0sTIvUqLYkHYyWAXXqzVw3',
  name: 'Treasury',
  status: 'active',
  destination_address: target,
  brand: { account_id: account },
  wire_instructions: instructions,
}

export const pendingAutomation = {
  id: '2VfUX0sTIvUqLYkHYyWAXXqzVw4',
  name: 'Treasury',
  status: 'pending',
  source: { value_type: 'usd', transfer_type: null },
  destination: target,
}

export const institution = {
  id: bank,
  name: 'Payroll',
  status: 'active',
  transfer_type: ['ach_debit'],
  bank_details: {
    owner: 'Ada',
    account_number: '****7890',
    routing_number: 21000021,
    name: 'Bank',
    account_type: 'checking',
    address: place,
  },
}

export const institutionState = {
  status: 'active',
  last_updated: later,
  financial_institution_id: bank,
  needs_update: true,
}

export const linkToken = {
  link_token: 'link-1',
  expiration: '2026-04-02T07:04:05Z',
  callback_url: 'https://api.example.com/callback',
}

export const linked = { address_id: bank }

export const linkedInstitution = { financial_institution_id: bank }

export const webhook = {
  id: '2VfUX0sTIvUqLYkHYyWAXXqzVw5',
  url: 'https://example.com/hook',
  events: ['transfer.*'],
  status: 'active',
}

/** Secret of the webhooks, as the contract shows it: base64url, with letters that base64 does not have. */
export const sharedSecret = Buffer.from('?~?~ a secret of a webhook ~?~?').toString('base64url')

export const eventType = { event_type: 'transfer.completed', summary: 'A transfer is complete.' }

export const deliveries = [
  { attempt_number: 1, status_code: 503 },
  { attempt_number: 2, status_code: 200 },
].map((members, index) => ({
  id: `2VfUX0sTIvUqLYkHYyWAXXqzD0${index}`,
  event_id: 'event-1',
  event_type: 'transfer.completed',
  ...members,
  created: at,
}))

export const lastPage = { next: null, prev: null }
