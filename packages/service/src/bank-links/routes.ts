import { Address, OutlayError, parseLinkTokenRequest, parseRegisterAccountRequest } from '@outlay/core'
import { isId, notFound, requireAccount } from '../clients/authenticate.ts'
import type { ServiceContext } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { findFinancialInstitution } from '../financial-institutions/financial-institutions.ts'
import { institutionIdOf } from '../financial-institutions/routes.ts'
import { readJson } from '../http/body.ts'
import { baseUrlOf } from '../http/connection.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { answerOnce } from '../idempotency/idempotent.ts'
import { outgoingPolicyOf, parseOutgoingUrl } from '../webhooks/outgoing-url.ts'
import { openLinkFlow, openUpdateFlow, type Registration, registerAccounts } from './bank-links.ts'
import { exchangePublicToken } from './exchanges.ts'
import type { BankLinking, OpenedFlow } from './port.ts'

/**
 * Mounts bank linking. Specification: "Bank-linking".
 *
 * `register-account` creates, so it requires an `Idempotency-Key`, and answers 201 for an update too. Link tokens create nothing
 * durable: a key is neither required nor read, and every call opens a new flow and answers 200.
 */
export function bankLinkRoutes(linking: BankLinking): RouteModule {
  return (app, context) => {
    const account = '/accounts/:account_id'
    for (const segment of linking.segments) {
      app.post(`${account}/${segment}/link_token`, (c) => linkToken(c, context, linking))
      app.post(`${account}/financial-institutions/${segment}/link_token`, (c) => linkToken(c, context, linking))
      app.post(`${account}/${segment}/register-account`, (c) => register(c, context, linking))
      app.post(`${account}/${segment}/:financial_institution_id/update-link-token`, (c) =>
        updateLinkToken(c, context, linking, institutionIdOf(c)),
      )
    }
    // The older path answers 200 in the public contract.
    const status = context.dialect === 'public' ? 200 : 201
    app.post(`${account}/financial-institutions/register-account`, (c) => register(c, context, linking, status))
    app.post(`${account}/financial-institutions/:financial_institution_id/update-link-token`, (c) =>
      updateLinkToken(c, context, linking, institutionIdOf(c)),
    )
    app.post(`${account}/addresses/:address_id/update-link-token`, (c) => {
      const id = c.req.param('address_id')
      if (!isId(id)) throw notFound('address')
      return updateLinkToken(c, context, linking, id)
    })
  }
}

async function updateLinkToken(
  c: ServiceRequest,
  context: ServiceContext,
  linking: BankLinking,
  id: string,
): Promise<Response> {
  const { accountId, clientId } = await requireAccount(c, context, 'financial-institutions:write')
  const client = asClient(context, clientId)
  if ((await findFinancialInstitution(client, context, accountId, id)) === undefined)
    throw notFound('financial institution')
  const flow = await openUpdateFlow(client, context, linking, { clientId, accountId, id })
  return c.json(linkTokenView(c, context, { linking, accountId, flow }))
}

function linkTokenView(
  c: ServiceRequest,
  context: ServiceContext,
  opened: { readonly linking: BankLinking; readonly accountId: string; readonly flow: OpenedFlow },
) {
  const { linking, accountId, flow } = opened
  return {
    link_token: flow.linkToken,
    expiration: flow.expiration,
    callback_url: linking.callbackUrl(accountId, baseUrlOf(c.env, context.publicUrl)),
  }
}

async function linkToken(c: ServiceRequest, context: ServiceContext, linking: BankLinking): Promise<Response> {
  const { accountId, clientId } = await requireAccount(c, context, 'financial-institutions:write')
  const body = await readOptionalJson(c)
  const person = parseLinkTokenRequest(body, { spelling: 'snake' })
  const flow = await openLinkFlow(context, linking, { ownerId: accountId, person, ...readDevice(body) }, clientId)
  return c.json(linkTokenView(c, context, { linking, accountId, flow }))
}

/** Where the flow runs and continues, for the provider. */
function readDevice(body: unknown): { readonly redirectUri?: string; readonly androidPackageName?: string } {
  const { redirect_uri: uri, android_package_name: name } = body as Readonly<Record<string, unknown>>
  return {
    ...(typeof uri === 'string' ? { redirectUri: uri } : {}),
    ...(typeof name === 'string' ? { androidPackageName: name } : {}),
  }
}

/** Every member of the body is optional, and so is the body. */
async function readOptionalJson(c: ServiceRequest): Promise<unknown> {
  const empty = c.req.raw.body === null || c.req.header('content-length') === '0'
  return empty ? {} : await readJson(c)
}

async function register(
  c: ServiceRequest,
  context: ServiceContext,
  linking: BankLinking,
  status: 200 | 201 = 201,
): Promise<Response> {
  const caller = await requireAccount(c, context, 'financial-institutions:write')
  const { accountId, clientId, environment } = caller
  const answer = await answerOnce(c, context, caller, { status }, async (body) => {
    const request = parse(context, body)
    const { publicToken } = request
    const token = { clientId, accountId, publicToken }
    const exchange = await exchangePublicToken(asClient(context, clientId), context, linking, token)
    return (tx) => registerAccounts(tx, context, { accountId, environment }, request, exchange)
  })
  // A refusal that was stored under the key has no address.
  if (!answer.ok) return answer
  const { address_id: id } = (await answer.clone().json()) as { readonly address_id: string }
  answer.headers.set('location', `${baseUrlOf(c.env, context.publicUrl)}/accounts/${accountId}/addresses/${id}`)
  return answer
}

/** Reads the body; its URL is checked before the token is exchanged, so that an invalid URL does not use up the token. */
function parse(context: ServiceContext, body: unknown): Registration {
  const given = parseRegisterAccountRequest(body, { spelling: 'snake' })
  const request = { ...given, transferTypes: readTransferTypes(context, body) }
  const { customerWebhookUrl: url } = request
  if (url === undefined) return request
  const policy = outgoingPolicyOf(context)
  return { ...request, customerWebhookUrl: parseOutgoingUrl(url, 'customer_webhook_url', policy).href }
}

/** The rails of US banks that a client asks for; `undefined` when it does not. */
function readTransferTypes({ catalog }: ServiceContext, body: unknown): readonly string[] | undefined {
  const { transfer_types: names } = body as { readonly transfer_types?: readonly string[] | null }
  if (names === undefined || names === null) return undefined
  const field = 'transfer_types'
  const checked = Address.checkTransferTypes(names, catalog, field)
  if (checked.every((name) => catalog.pairs('USD', name))) return checked
  throw new OutlayError('transfer_type_not_supported', 'A linked bank account lists rails of US banks only.', { field })
}
