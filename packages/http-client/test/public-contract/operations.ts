import type { z } from 'zod'
import * as answers from './answers.ts'
import * as examples from './examples.ts'
import * as requests from './requests.ts'

/** One answer to an operation. */
interface Answer {
  readonly status: number
  readonly schema: z.ZodType
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One operation of the public contract: what it takes, to the member, and what it answers. */
export interface Operation {
  readonly method: string
  /** `{account}` and `{id}` stand for ids. */
  readonly path: string
  readonly query: z.ZodType
  /** Absent where a request has no body. */
  readonly body?: z.ZodType
  /** True for creates, which need an idempotency key. */
  readonly key: boolean
  /** By the published document, then by the server's own where it differs. */
  readonly answers: readonly [Answer, ...Answer[]]
}

const ok = (schema: z.ZodType, body: unknown): Answer => ({ status: 200, schema, body })
const made = (schema: z.ZodType, body: unknown, headers = {}): Answer => ({ status: 201, schema, body, headers })
const empty = (status: number): Answer => ({ status, schema: answers.nothing, body: undefined })

const get = (path: string, query: z.ZodType, ...given: readonly [Answer, ...Answer[]]): Operation => ({
  method: 'GET',
  path: `/accounts${path}`,
  query,
  key: false,
  answers: given,
})

const write =
  (method: string, key: boolean) =>
  (path: string, body: z.ZodType | undefined, ...given: readonly [Answer, ...Answer[]]): Operation => ({
    method,
    path: `/accounts${path}`,
    query: requests.noQuery,
    ...(body === undefined ? {} : { body }),
    key,
    answers: given,
  })

const post = write('POST', true)
const patch = write('PATCH', false)
const { lastPage } = examples

const accounts = [
  post('', requests.newAccount, made(answers.created, examples.created), ok(answers.account, examples.summary)),
  get(
    '',
    requests.pageQuery,
    ok(answers.accounts, { accounts: [examples.summary] }),
    ok(answers.accounts, { accounts: [examples.summary.id] }),
  ),
  get('/{account}', requests.noQuery, ok(answers.account, examples.summary)),
]

const transfers = [
  post(
    '/{account}/transfers',
    requests.newTransfer,
    made(answers.created, examples.created),
    made(answers.transfer, examples.transfer),
  ),
  get(
    '/{account}/transfers',
    requests.transferQuery,
    ok(answers.transfers, { transfers: [examples.transfer], pagination: lastPage }),
    ok(answers.transfers, { transfers: examples.failures, pagination: lastPage }),
  ),
  get(
    '/{account}/transfers/{id}',
    requests.noQuery,
    ok(answers.transfer, examples.transfer),
    ok(answers.transfer, examples.failures[3]),
  ),
]

const addresses = [
  post(
    '/{account}/addresses/external',
    requests.newExternalAddress,
    made(answers.created, examples.created),
    made(answers.address, examples.bankAddress),
  ),
  post(
    '/{account}/addresses/internal',
    requests.newInternalAddress,
    made(answers.created, examples.created),
    made(answers.address, examples.walletAddress),
  ),
  post(
    '/{account}/addresses/{id}/update-link-token',
    requests.newUpdateToken,
    ok(answers.linkToken, examples.linkToken),
  ),
  get(
    '/{account}/addresses',
    requests.pageQuery,
    ok(answers.addresses, { addresses: [examples.walletAddress, examples.bankAddress], pagination: lastPage }),
  ),
  get(
    '/{account}/addresses/{id}',
    requests.noQuery,
    ok(answers.address, examples.walletAddress),
    ok(answers.address, examples.bankAddress),
  ),
  patch('/{account}/addresses/{id}', requests.addressChange, ok(answers.address, examples.bankAddress)),
  get('/{account}/addresses/{id}/balance', requests.balanceQuery, ok(answers.balance, examples.balance)),
]

const automations = [
  post(
    '/{account}/automations',
    requests.newAutomation,
    made(answers.automation, examples.pendingAutomation),
    made(answers.automation, examples.automation),
  ),
  get(
    '/{account}/automations',
    requests.pageQuery,
    ok(answers.automations, { automations: [examples.pendingAutomation] }),
    ok(answers.automations, { automations: [examples.automation] }),
  ),
  get(
    '/{account}/automations/{id}',
    requests.noQuery,
    ok(answers.automation, examples.pendingAutomation),
    ok(answers.automation, examples.automation),
  ),
]

const institutions = [
  post(
    '/{account}/financial-institutions/external',
    requests.newInstitution,
    made(answers.created, examples.created),
    made(answers.institution, examples.institution),
  ),
  get(
    '/{account}/financial-institutions',
    requests.pageQuery,
    ok(answers.institutions, { financial_institutions: [examples.institution] }),
  ),
  get('/{account}/financial-institutions/{id}', requests.noQuery, ok(answers.institution, examples.institution)),
  get(
    '/{account}/financial-institutions/{id}/status',
    requests.noQuery,
    ok(answers.institutionState, examples.institutionState),
  ),
  post(
    '/{account}/financial-institutions/{id}/update-link-token',
    requests.newUpdateToken,
    ok(answers.linkToken, examples.linkToken),
  ),
]

const location = { location: `/accounts/${examples.summary.id}/addresses/${examples.linked.address_id}` }

const links = [
  post('/{account}/plaid/link_token', requests.newLinkToken, ok(answers.linkToken, examples.linkToken)),
  post(
    '/{account}/plaid/register-account',
    requests.newRegistration,
    made(answers.registration, examples.linked, location),
  ),
  post(
    '/{account}/financial-institutions/register-account',
    requests.newRegistration,
    ok(answers.registration, examples.linkedInstitution),
  ),
]

const webhooks = [
  post(
    '/{account}/webhooks',
    requests.newWebhook,
    made(answers.newWebhookAnswer, { ...examples.webhook, sharedSecret: examples.sharedSecret }),
  ),
  get('/{account}/webhooks', requests.noQuery, ok(answers.webhooks, { subscriptions: [examples.webhook] })),
  get(
    '/{account}/webhooks/event_types',
    requests.noQuery,
    ok(answers.eventTypes, { event_types: [examples.eventType] }),
  ),
  get(
    '/{account}/webhooks/deliveries',
    requests.pageQuery,
    ok(answers.deliveries, { deliveries: examples.deliveries, pagination: lastPage }),
  ),
  write('POST', false)('/{account}/webhooks/events/{id}/resend', undefined, empty(202)),
  get('/{account}/webhooks/{id}', requests.noQuery, ok(answers.webhook, examples.webhook)),
  patch(
    '/{account}/webhooks/subscriptions/{id}',
    requests.webhookChange,
    ok(answers.webhook, { ...examples.webhook, status: 'archived' }),
  ),
  write('DELETE', false)('/{account}/webhooks/subscriptions/{id}', undefined, empty(204)),
]

/** The operations of the contract that a client can call. Of two that match a request, the first one answers. */
export const operations: readonly Operation[] = [
  ...accounts,
  ...transfers,
  ...addresses,
  ...automations,
  ...institutions,
  ...links,
  ...webhooks,
]
