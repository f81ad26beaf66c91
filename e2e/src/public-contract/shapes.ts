/** A JSON Schema. */
export type Shape = Readonly<Record<string, unknown>>

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const time = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$' } as const
const id = { type: 'string', pattern: '^[a-zA-Z0-9]{26,27}$' } as const
const maybe = (shape: Shape): Shape => ({ anyOf: [shape, { type: 'null' }] })
const list = (items: Shape): Shape => ({ type: 'array', items })

/** An object with these members and no others: the required ones, and those that may be missing. */
function closed(required: Readonly<Record<string, Shape>>, optional: Readonly<Record<string, Shape>> = {}): Shape {
  return {
    type: 'object',
    required: Object.keys(required),
    properties: { ...required, ...optional },
    additionalProperties: false,
  }
}

const amount = closed({ value: { type: 'string', pattern: '^\\d+(\\.\\d+)?$' }, currency: text })
const place = closed(
  { street_line_1: text, city: text, state: text, zip: text },
  { street_line_2: text, country: text },
)
const pagination = closed({ next: maybe(text), prev: maybe(text) })
const status = { enum: ['pending', 'processing', 'complete', 'canceled', 'failed'] } as const
const accountStatus = { enum: ['complete', 'pending', 'rejected'] } as const
const person = closed({ name: text, ssn: text, address: place })

/** A summary of an account; the members of the specification may be there too. */
const account = closed(
  { id, name: text, status: accountStatus, created: time, updated: time },
  {
    business_name: text,
    ein: text,
    address: place,
    phone_number: text,
    email: text,
    website: text,
    ultimate_beneficial_owners: list(person),
    beneficial_owners: maybe(list(person)),
    account_type: { enum: ['custodial', 'transactional'] },
    entity_type: { enum: ['business', 'individual'] },
  },
)

const address = closed(
  {
    id,
    name: text,
    status: text,
    is_primary: flag,
    needs_update: flag,
    last_updated: time,
    created: time,
    transfer_types: list(text),
  },
  {
    type: { enum: ['internal', 'external'] },
    address: text,
    ownership: text,
    owner: text,
    account_number: text,
    routing_number: text,
    routingNumber: text,
    account_type: text,
    bank_address: place,
    beneficiary_address: place,
  },
)

const bankAddress = { ...address, required: [...(address['required'] as readonly string[]), 'owner', 'routingNumber'] }

const instructions = closed(
  {
    beneficiary_name: text,
    bank_name: text,
    bank_address: text,
    account_number: text,
    routing_number: { type: ['string', 'number'] },
    beneficiary_address: text,
  },
  { memo: maybe(text) },
)

const details = closed(
  {},
  Object.fromEntries(
    [
      'received_at',
      'sender_name',
      'sender_bank_name',
      'sender_bank_routing_number',
      'payment_reference',
      'imad',
      'trace_number',
    ].map((name) => [name, maybe(text)]),
  ),
)

const leg = closed(
  { value_type: text, transfer_type: text },
  {
    address_id: id,
    financial_institution_id: text,
    transaction_id: text,
    wire_memo: text,
    memo: text,
    payment_details: details,
  },
)

/** Null, a text, or an object, of which there are two kinds. */
const failure = {
  type: ['object', 'string', 'null'],
  properties: {
    type: text,
    occurred_at: time,
    retriable: flag,
    ach_return: closed({ code: text, reason: text, category: text }),
    errors: list({ type: 'object' }),
  },
  additionalProperties: false,
  anyOf: [{ type: ['string', 'null'] }, { required: ['type', 'occurred_at', 'retriable'] }, { required: ['errors'] }],
}

const transfer = closed(
  {
    id,
    status,
    amount,
    source: leg,
    destination: leg,
    created_at: time,
    updated_at: time,
  },
  {
    failure,
    note: maybe(text),
    automation_id: id,
    wire_instructions: instructions,
    funding_simulated: flag,
    requested_transfer_type: text,
  },
)

const target = closed({ address_id: id, value_type: text, transfer_type: text })

const automation = {
  ...closed(
    { id, name: text, status: text },
    {
      source: closed({ value_type: text }, { transfer_type: maybe(text), funding_instructions: maybe(instructions) }),
      destination: target,
      destination_address: target,
      destinationAddress: target,
      wire_instructions: maybe(instructions),
      brand: maybe(closed({ account_id: id })),
      created_at: time,
      updated_at: time,
    },
  ),
  anyOf: [{ required: ['destination'] }, { required: ['destination_address'] }],
}

const institution = closed(
  { id: text, name: text, status: text },
  {
    transfer_type: list(text),
    bank_details: closed(
      { owner: text, account_number: text, routing_number: { type: ['string', 'number'] }, account_type: text },
      { name: text, address: place, beneficiary_address: place, bank_address: place },
    ),
  },
)

const webhook = closed(
  { id: text, url: text, events: list(text), status: { enum: ['active', 'archived'] } },
  { created: time, updated: time },
)

const createdWebhook = {
  ...webhook,
  required: [...(webhook['required'] as readonly string[]), 'sharedSecret'],
  properties: {
    ...(webhook['properties'] as object),
    sharedSecret: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
  },
}

const attempt = closed(
  {
    id: text,
    event_id: text,
    event_type: text,
    attempt_number: { type: 'integer', minimum: 1 },
    status: { enum: ['delivered', 'failed'] },
    status_code: maybe({ type: 'integer' }),
  },
  { subscription_id: text, error: maybe(text), created: time },
)

const statusText = { type: 'string', pattern: '^[45]\\d\\d$' } as const
const error = closed({ code: text, status: statusText, title: text, detail: text }, { source: { type: 'object' } })

/** Of 400, 404, 409 and 5xx; `message` is that of the newest readers, and `errors` what some read everywhere. */
const problem = closed(
  { type: text, code: text, detail: text, status: { type: 'integer' }, values: { type: 'array' } },
  { title: text, message: text, errors: list(error) },
)

/** Of 401, 403 and 422. */
const refusal = {
  ...problem,
  required: ['errors'],
  properties: { ...(problem['properties'] as object), errors: { ...list(error), minItems: 1 } },
}

const linkToken = closed({ link_token: text, expiration: time, callback_url: text })
const page = (name: string, items: Shape) => closed({ [name]: list(items), pagination })

/** What the public contract answers, from its facts; the members that it shares with the specification are as there. */
export const shapes = {
  account,
  created: { type: 'object', required: ['id'], properties: { id } },
  accounts: closed({ accounts: list({ anyOf: [id, account] }) }),
  address,
  bankAddress,
  addresses: page('addresses', address),
  balance: closed(
    { balance: amount },
    { address: closed({ id, address: text }), value_type: text, transfer_type: text, available: amount },
  ),
  transfer,
  transfers: page('transfers', transfer),
  mints: page('mints', transfer),
  burns: page('burns', transfer),
  tokenTransfers: page('transfers', transfer),
  automation,
  automations: closed({ automations: list(automation) }),
  institution,
  institutions: closed({ financial_institutions: list(institution) }),
  institutionStatus: closed({ status: text, last_updated: time, financial_institution_id: text, needs_update: flag }),
  linkToken,
  registered: closed({ address_id: id }, { financial_institution_id: id }),
  registeredOlder: closed({ financial_institution_id: id }, { address_id: id }),
  webhook,
  createdWebhook,
  webhooks: closed({ subscriptions: list(webhook) }),
  eventTypes: closed({ event_types: list(closed({ event_type: text, summary: text })) }),
  deliveries: page('deliveries', attempt),
  deposit: { type: 'object' },
  accepted: { type: 'object' },
  empty: {},
  problem,
  refusal,
} as const satisfies Readonly<Record<string, Shape>>

/** The name of a shape. */
export type ShapeName = keyof typeof shapes
