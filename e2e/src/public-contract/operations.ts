import type { ShapeName } from './shapes.ts'

/** One operation of the public contract: what is sent, and what has to come back. */
export interface Exchange {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly shape: ShapeName
  readonly body?: unknown
  /** Sent without a token. */
  readonly anonymous?: boolean
  /** Sent without an idempotency key, although it creates. */
  readonly keyless?: boolean
  /** Sent again until the answer is of this kind; the last answer counts. */
  readonly until?: (body: Readonly<Record<string, unknown>>) => boolean
}

/** Sends one operation, and gives the answer's body. */
export type Perform = (exchange: Exchange) => Promise<Readonly<Record<string, unknown>>>

const place = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }
const evm = '0x52908400098527886E0F7030069857D2E4169EE7'
const unknownId = '0'.repeat(26)

const business = {
  business_name: 'Roe Holdings Incorporated',
  ein: '12-3456789',
  address: place,
  phone_number: '+1 217 555 0100',
  email: 'finance@roe.example',
  website: 'https://roe.example',
  account_type: 'custodial',
  entity_type: 'business',
  business_controller: { name: 'Ada Roe', ssn: '987-65-4321', address: place },
  beneficial_owners: null,
  tos_attestation: { accepted_at: '2026-01-15T16:20:00.000Z', ip: '192.0.2.1', user_agent: 'test', version: '1' },
}

/** Performs every operation of the public contract that the facts describe, as a program of it does. */
export async function performAll(perform: Perform, accountId: string): Promise<void> {
  const at = (path: string) => `/accounts/${accountId}${path}`
  await performAccounts(perform, at)
  const wallets = (await perform(get('list addresses', at('/addresses'), 'addresses')))['addresses']
  const wallet = (wallets as readonly { readonly id: string; readonly transfer_types: readonly string[] }[]).find(
    ({ transfer_types: types }) => types.includes('base'),
  )
  const walletId = wallet?.id ?? unknownId
  const bankId = await performAddresses(perform, at, walletId)
  const webhookId = await performRegistration(perform, at)
  await performTransfers(perform, { at, walletId, bankId, accountId })
  await performWebhooks(perform, at, webhookId)
  await performAutomations(perform, at, walletId)
  await performBankLinks(perform, at, walletId)
  await performInstitutions(perform, at)
  await performRefusals(perform, at)
}

const get = (name: string, path: string, shape: ShapeName): Exchange => ({
  name,
  method: 'GET',
  path,
  status: 200,
  shape,
})

const post = (name: string, path: string, shape: ShapeName, body: unknown, status = 201): Exchange => ({
  name,
  method: 'POST',
  path,
  status,
  shape,
  body,
})

type At = (path: string) => string
const textOf = (value: unknown) => (typeof value === 'string' ? value : unknownId)

async function performAccounts(perform: Perform, at: At): Promise<void> {
  await perform(post('create account', '/accounts', 'created', business))
  await perform(get('list accounts', '/accounts', 'accounts'))
  await perform(get('get account', at(''), 'account'))
  const change = { email: 'payments@roe.example' }
  await perform({ ...post('change account', at(''), 'account', change, 200), method: 'PATCH' })
}

async function performAddresses(perform: Perform, at: At, walletId: string): Promise<string> {
  const bank = {
    owner: 'Roe Supplies LLC',
    account_number: '445566778899',
    routing_number: '021000021',
    account_type: 'checking',
    ownership: 'customer-owned',
    transfer_types: ['ach_credit'],
  }
  const external = at('/addresses/external')
  const created = await perform(post('create bank address', external, 'bankAddress', bank))
  const wallet = { name: 'Supplier', address: evm, transfer_types: ['base'], ownership: 'self-owned' }
  await perform(post('create wallet address', external, 'address', wallet))
  const bankId = textOf(created['id'])
  await perform(get('get address', at(`/addresses/${bankId}`), 'bankAddress'))
  const change = { additional_transfer_types: ['wire'], bank_address: place, beneficiary_address: place }
  await perform({
    ...post('change address', at(`/addresses/${bankId}`), 'bankAddress', change, 200),
    method: 'PATCH',
  })
  const internal = { name: 'Payroll', transfer_types: ['base'] }
  await perform(post('create internal address', at('/addresses/internal'), 'address', internal))
  await perform(get('get balance', at(`/addresses/${walletId}/balance`), 'balance'))
  return bankId
}

async function performTransfers(
  perform: Perform,
  { at, walletId, bankId, accountId }: Readonly<{ at: At; walletId: string; bankId: string; accountId: string }>,
): Promise<void> {
  const money = { account_id: accountId, address_id: walletId, value_type: 'USDC', transfer_type: 'base', amount: '90' }
  await perform(post('simulate deposit', '/simulations/deposits', 'deposit', money))
  const source = { address_id: walletId, value_type: 'USDC', transfer_type: 'base' }
  const amount = { value: '10.00', currency: 'USD' }
  const transfers = at('/transfers')
  const memo = { value_type: 'USD', transfer_type: 'wire', memo: 'INV-42' }
  const wire = { amount, source, destination: { ...memo, financial_institution_id: bankId } }
  const { id } = await perform(post('create wire offramp', transfers, 'transfer', wire))
  const onramp = { amount, source: { value_type: 'USD', transfer_type: 'wire' }, destination: source }
  const { id: mintId } = await perform(post('create wire onramp', transfers, 'transfer', onramp))
  const polygon = { ...source, transfer_type: 'polygon' }
  const move = { amount: { value: '10', currency: 'USDC' }, source, destination: polygon }
  const { id: moveId } = await perform(post('create move between chains', transfers, 'transfer', move))
  await perform(get('get transfer', at(`/transfers/${textOf(id)}`), 'transfer'))
  await perform(get('list transfers', transfers, 'transfers'))
  const reject = `/simulations/transfers/${textOf(moveId)}/reject`
  await perform({ ...post('simulate rejection', reject, 'accepted', {}, 202), until: ({ status }) => status !== 409 })
  const failed = get('get failed transfer', at(`/transfers/${textOf(moveId)}`), 'transfer')
  await perform({ ...failed, until: ({ status }) => status !== 'pending' && status !== 'processing' })
  for (const [name, one, list, from] of [
    ['mints', mintId, 'mints', '/tokens/mints'],
    ['burns', id, 'burns', '/tokens/burns'],
    ['transfers', moveId, 'tokenTransfers', '/tokens/transfers'],
  ] as const) {
    await perform(get(`list ${name} of tokens`, from, list))
    await perform(get(`get one of ${name} of tokens`, `${from}/${textOf(one)}`, 'transfer'))
  }
}

/** Before there are events. Nothing listens there, so that each attempt fails at once. */
async function performRegistration(perform: Perform, at: At): Promise<string> {
  const body = { url: 'http://127.0.0.1:9/events', events: ['transfer.*'] }
  const { id } = await perform(post('create webhook', at('/webhooks'), 'createdWebhook', body))
  return textOf(id)
}

async function performWebhooks(perform: Perform, at: At, id: string): Promise<void> {
  const subscription = at(`/webhooks/subscriptions/${id}`)
  await perform(get('list webhooks', at('/webhooks'), 'webhooks'))
  await perform(get('get webhook', at(`/webhooks/${id}`), 'webhook'))
  await perform(get('list event types', at('/webhooks/event_types'), 'eventTypes'))
  const sent = (body: Readonly<Record<string, unknown>>) => {
    const { deliveries } = body as { readonly deliveries?: readonly unknown[] }
    return deliveries === undefined || deliveries.length > 0
  }
  const listed = await perform({ ...get('list deliveries', at('/webhooks/deliveries'), 'deliveries'), until: sent })
  const [attempt] = listed['deliveries'] as readonly { readonly event_id?: unknown }[]
  await perform(
    post('resend event', at(`/webhooks/events/${textOf(attempt?.event_id)}/resend`), 'accepted', undefined, 202),
  )
  const chosen = { events: ['transfer.created', 'transfer.canceled'] }
  await perform({ ...post('change events of a webhook', subscription, 'webhook', chosen, 200), method: 'PATCH' })
  const archived = { status: 'archived' }
  await perform({ ...post('change webhook', subscription, 'webhook', archived, 200), method: 'PATCH' })
  await perform({ name: 'remove webhook', method: 'DELETE', path: subscription, status: 204, shape: 'empty' })
}

async function performAutomations(perform: Perform, at: At, walletId: string): Promise<void> {
  const destination = { address_id: walletId, value_type: 'USDC', transfer_type: 'base' }
  const brand = { account_id: at('').slice('/accounts/'.length) }
  const body = { name: 'Deposits', source: { value_type: 'USD' }, destination_address: destination, brand }
  const { id } = await perform(post('create automation', at('/automations'), 'automation', body))
  await perform(get('list automations', at('/automations'), 'automations'))
  const isOpen = ({ status }: Readonly<Record<string, unknown>>) => status !== 'pending' && status !== 'processing'
  await perform({ ...get('get automation', at(`/automations/${textOf(id)}`), 'automation'), until: isOpen })
  const { id: other } = await perform(
    post('create wallet for deposits', at('/addresses/internal'), 'address', {
      name: 'Deposits',
      transfer_types: ['base'],
    }),
  )
  const change = { address_id: other }
  const path = at(`/automations/${textOf(id)}`)
  for (const [name, where] of [
    ['change destination of an automation', path],
    ['change destination of an automation, at its path', `${path}/destination`],
  ] as const) {
    await perform({ ...post(name, where, 'automation', change, 200), method: 'PATCH' })
  }
  const deposit = { amount: { value: '25.00', currency: 'USD' } }
  await perform(post('simulate deposit of an automation', `${path}/simulations/deposits`, 'accepted', deposit, 202))
}

async function performBankLinks(perform: Perform, at: At, walletId: string): Promise<void> {
  const device = { redirect_uri: 'https://roe.example/linked', android_package_name: 'example.roe' }
  const link = async (path: string, name: string) => {
    const opened = await perform(post(name, at(path), 'linkToken', device, 200))
    const complete = `/simulations/bank-links/${textOf(opened['link_token'])}/complete`
    const { public_token: token } = await perform(post('simulate bank link', complete, 'accepted', {}))
    return { public_token: token, transfer_types: ['ach_debit'] }
  }
  const body = await link('/plaid/link_token', 'create link token')
  const registered = await perform(post('register account', at('/plaid/register-account'), 'registered', body))
  const older = await link('/financial-institutions/plaid/link_token', 'create link token, older path')
  const olderPath = at('/financial-institutions/register-account')
  await perform(post('register account, older path', olderPath, 'registeredOlder', older, 200))
  const id = textOf(registered['address_id'])
  await performReturn(perform, at, { bankId: id, walletId })
  const update = at(`/addresses/${id}/update-link-token`)
  await perform(post('update link token of an address', update, 'linkToken', {}, 200))
  const newer = at(`/plaid/${id}/update-link-token`)
  await perform(post('update link token at the provider', newer, 'linkToken', {}, 200))
  const olderUpdate = at(`/financial-institutions/${id}/update-link-token`)
  await perform(post('update link token of an institution', olderUpdate, 'linkToken', {}, 200))
}

/** An ACH debit that its bank returns. */
async function performReturn(
  perform: Perform,
  at: At,
  { bankId, walletId }: { readonly bankId: string; readonly walletId: string },
): Promise<void> {
  const { id } = await perform(
    post('create ACH debit', at('/transfers'), 'transfer', {
      amount: { value: '10.00', currency: 'USD' },
      source: { address_id: bankId, value_type: 'USD', transfer_type: 'ach_debit' },
      destination: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
    }),
  )
  const path = `/simulations/transfers/${textOf(id)}/return`
  const taken = ({ status }: Readonly<Record<string, unknown>>) => status !== 409
  await perform({ ...post('simulate ACH return', path, 'accepted', { code: 'R03' }, 202), until: taken })
  const returned = get('get returned transfer', at(`/transfers/${textOf(id)}`), 'transfer')
  await perform({ ...returned, until: ({ status }) => status !== 'pending' && status !== 'processing' })
}

async function performInstitutions(perform: Perform, at: At): Promise<void> {
  const body = {
    owner: 'Roe Supplies LLC',
    account_number: '112233445566',
    routing_number: '021000021',
    account_type: 'checking',
    bank_address: place,
    beneficiary_address: place,
  }
  const path = at('/financial-institutions')
  const { id } = await perform(post('create institution', `${path}/external`, 'institution', body))
  await perform(get('list institutions', path, 'institutions'))
  await perform(get('get institution', `${path}/${textOf(id)}`, 'institution'))
  await perform(get('get status of an institution', `${path}/${textOf(id)}/status`, 'institutionStatus'))
}

async function performRefusals(perform: Perform, at: At): Promise<void> {
  await perform({ ...get('refusal 404', at(`/transfers/${unknownId}`), 'problem'), status: 404 })
  await perform({ ...get('refusal 401', at(''), 'refusal'), status: 401, anonymous: true })
  await perform(post('refusal 422', at('/transfers'), 'refusal', { amount: { value: '1', currency: 'USD' } }, 422))
  // Nobody has described what these take.
  await perform(post('refusal of documents', at('/documents'), 'refusal', {}, 422))
  await perform(post('refusal of an older create', '/tokens/mints', 'refusal', {}, 422))
  await perform({ ...post('refusal 400', at('/transfers'), 'problem', {}, 400), keyless: true })
}
