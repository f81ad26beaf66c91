/** A route with a valid body, to be spoiled. */
export interface HostileRoute {
  readonly method: string
  /** Path with parameters in braces. */
  readonly path: string
  /** A valid body; absent where the route has none. */
  readonly body?: (ids: KnownIds) => unknown
  /** The body is a form, not JSON, and the client authenticates with its secret, not a token. */
  readonly form?: true
  /** A query that the route requires. */
  readonly query?: string
}

/** The attacker's ids, by parameter, and the other values that a valid body names. */
export interface KnownIds {
  readonly accountId: string
  readonly walletId: string
  readonly payeeId: string
  readonly bankId: string
  readonly transferId: string
  readonly clientId: string
  readonly clientSecret: string
  /** Of a completed flow at the bank-linking provider. */
  readonly publicToken: string
}

const postal = { street_line_1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' }

const bank = {
  owner: 'Jane Roe',
  name: 'Supplier',
  account_number: '445566778877',
  routing_number: '021000021',
  account_type: 'checking',
  bank_address: postal,
  beneficiary_address: postal,
}

const newAccount = {
  business_name: 'Roe Holdings',
  ein: '123456789',
  address: postal,
  phone_number: '+12175550100',
  email: 'finance@roe.example',
  website: 'https://roe.example',
  ultimate_beneficial_owners: [{ name: 'Ada Roe', ssn: '987654321', address: postal }],
}

const payout = ({ walletId, payeeId }: KnownIds) => ({
  amount: { value: '0.01', currency: 'USDC' },
  source: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
  destination: { address_id: payeeId, value_type: 'USDC', transfer_type: 'base' },
  note: 'rent',
})

const account = '/accounts/{account_id}'
const institution = `${account}/financial-institutions/{financial_institution_id}`
const webhook = `${account}/webhooks/subscriptions/{subscription_id}`
const url = 'http://127.0.0.1:9/hook'

const get = (path: string): HostileRoute => ({ method: 'GET', path })
const send = (method: string, path: string, body: HostileRoute['body'] = () => ({})): HostileRoute => ({
  method,
  path,
  body,
})

/** Every route of a sandbox. A test compares this list with the service's own description of itself. */
export const hostileRoutes: readonly HostileRoute[] = [
  get('/health'),
  get('/ready'),
  get('/openapi.json'),
  {
    ...send('POST', '/oauth2/token', ({ clientId, clientSecret }) => ({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: 'accounts:read',
    })),
    form: true,
  },
  {
    ...send('POST', '/oauth2/revoke', ({ clientId, clientSecret }) => ({
      token: 'unknown',
      client_id: clientId,
      client_secret: clientSecret,
    })),
    form: true,
  },
  get('/accounts'),
  send('POST', '/accounts', () => newAccount),
  get(account),
  send('PATCH', account, () => ({ email: 'other@roe.example', website: '' })),
  get('/addresses'),
  get(`${account}/addresses`),
  send('POST', `${account}/addresses/external`, () => ({
    ...bank,
    transfer_types: ['wire', 'ach_debit'],
    ownership: 'customer-owned',
  })),
  send('POST', `${account}/addresses/internal`, () => ({ name: 'Payroll', transfer_types: ['base', 'polygon'] })),
  send('POST', `${account}/addresses/{address_id}/update-link-token`),
  get('/addresses/{address_id}'),
  get(`${account}/addresses/{address_id}`),
  send('PATCH', '/addresses/{address_id}', () => ({ transfer_types: ['polygon'], name: 'Other' })),
  send('PATCH', `${account}/addresses/{address_id}`, () => ({ transfer_types: ['polygon'], status: 'active' })),
  get('/balances'),
  get(`${account}/balances`),
  { ...get(`${account}/addresses/{address_id}/balance`), query: 'value_type=USDC&transfer_type=base' },
  get(`${account}/transfers`),
  send('POST', `${account}/transfers`, payout),
  send('POST', `${account}/transfer`, payout),
  get(`${account}/transfers/{transfer_id}`),
  send('POST', `${account}/transfers/{transfer_id}/cancel`),
  get(`${account}/quotes`),
  send('POST', `${account}/quotes`, () => ({
    amount: { value: '0.01', currency: 'USDC' },
    source: { value_type: 'USDC' },
    destination: { value_type: 'MXN' },
  })),
  get(`${account}/quotes/{quote_id}`),
  ...['mints', 'burns', 'transfers'].flatMap((move) =>
    ['', account].flatMap((scope) => [get(`${scope}/tokens/${move}`), get(`${scope}/tokens/${move}/{transfer_id}`)]),
  ),
  get(`${account}/automations`),
  send('POST', `${account}/automations`, ({ walletId }) => ({
    name: 'Deposits',
    source: { value_type: 'USD' },
    destination: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
  })),
  get(`${account}/automations/{automation_id}`),
  send('PATCH', `${account}/automations/{automation_id}`, () => ({ status: 'disabled' })),
  send('PATCH', `${account}/automations/{automation_id}/destination`, ({ payeeId }) => ({ address_id: payeeId })),
  send('POST', `${account}/automations/{automation_id}/simulations/deposits`, () => ({
    amount: { value: '12.50', currency: 'USD' },
  })),
  get(`${account}/financial-institutions`),
  send('POST', `${account}/financial-institutions/external`, () => bank),
  get(institution),
  get(`${institution}/status`),
  send('POST', `${institution}/update-link-token`),
  send('POST', `${account}/banklink/{financial_institution_id}/update-link-token`),
  send('POST', `${account}/banklink/link_token`, () => ({ legal_name: 'Ada Roe', date_of_birth: '1980-02-29' })),
  send('POST', `${account}/financial-institutions/banklink/link_token`, () => ({ phone_number: '+12175550100' })),
  send('POST', `${account}/banklink/register-account`, ({ publicToken }) => ({
    public_token: publicToken,
    transfer_types: ['ach_debit'],
  })),
  send('POST', `${account}/financial-institutions/register-account`, ({ publicToken }) => ({
    public_token: publicToken,
    customer_webhook_url: url,
  })),
  get(`${account}/webhooks`),
  send('POST', `${account}/webhooks`, () => ({ url, event_types: ['account.updated'] })),
  get(`${account}/webhooks/event_types`),
  get(`${account}/webhooks/deliveries`),
  get(`${account}/webhooks/deliveries/{delivery_id}/attempts`),
  get(`${account}/webhooks/{subscription_id}`),
  send('POST', `${account}/webhooks/events/{event_id}/resend`),
  send('POST', `${webhook}/rotate`),
  get(webhook),
  send('PATCH', webhook, () => ({ url, status: 'active', event_types: ['transfer.*'] })),
  send('DELETE', webhook),
  get('/simulations/clock'),
  send('POST', '/simulations/clock/advance', () => ({ seconds: 1 })),
  send('POST', '/simulations/deposits', ({ accountId, walletId }) => ({
    account_id: accountId,
    address_id: walletId,
    value_type: 'USDC',
    transfer_type: 'base',
    amount: { value: '5', currency: 'USDC' },
  })),
  send('POST', '/simulations/accounts/{account_id}/status', () => ({ status: 'complete' })),
  send('POST', '/simulations/wires', ({ transferId }) => ({ transfer_id: transferId, sender_name: 'Globex' })),
  send('POST', '/simulations/ach-credits', () => ({ account_number: '123456789012', amount: '5.00' })),
  send('POST', '/simulations/transfers/{transfer_id}/settle'),
  send('POST', '/simulations/transfers/{transfer_id}/reject', () => ({ code: 'refused', detail: 'No' })),
  send('POST', '/simulations/transfers/{transfer_id}/return', () => ({ code: 'R01' })),
  send('POST', '/simulations/transfers/{transfer_id}/accept'),
  get('/simulations/transfers/{transfer_id}/statement-line'),
  send('POST', '/simulations/bank-links/{link_token}/complete', () => ({
    accounts: [{ account_number: '445566778877' }],
  })),
  send('POST', '/simulations/financial-institutions/{financial_institution_id}/login-required', () => ({
    reason: 'The password changed.',
  })),
]
