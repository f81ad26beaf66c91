import type { z } from 'zod'
import { scopes } from '../schema/caller.ts'
import { examplesOf } from '../schema/component.ts'
import type { Operation, OperationAnswer, OperationTag } from '../schema/operation.ts'
import { eventSchema } from '../webhooks/schema.ts'
import { writeHeaderComponents, writeRefusalComponents, writeRefusals } from './refusals.ts'
import { type JsonObject, writeSchema, writeSchemas } from './schemas.ts'

const tags: Readonly<Record<OperationTag, string>> = {
  Accounts: 'A business has an account and can manage the accounts of its end customers.',
  Addresses: 'Sources and destinations of value: custodial wallets and registered counterparties.',
  Balances: 'Holdings of custodial wallets.',
  Transfers: 'Movements of money.',
  Quotes: 'Rates between value types that are not worth the same, each guaranteed for one transfer.',
  Tokens: 'The same transfers by what they do to tokens: mints, burns, and moves of tokens.',
  Automations: 'Virtual bank accounts whose deposits become transfers.',
  'Financial institutions': 'Bank accounts in their older form. Use addresses instead.',
  'Bank linking': 'Bank accounts that their owners link through a provider, for ACH debits.',
  Webhooks: 'URLs that receive events, with the log of deliveries.',
  Sandbox: 'Operations that simulate incoming money, time and outcomes. Only a sandbox has them.',
  Authentication: 'OAuth 2.0 client credentials.',
  Service: 'Health and description of the service.',
}

/** Options of a document. */
export interface OpenApiOptions {
  readonly operations: readonly Operation[]
  /** Base address of the API. Default `/`: the origin of the document. */
  readonly serverUrl?: string | undefined
}

/** Writes the OpenAPI 3.1 document of the given operations. */
export function writeOpenApi({ operations, serverUrl = '/' }: OpenApiOptions): JsonObject {
  const used = new Set<OperationTag>(['Webhooks', ...operations.map((one) => one.tag)])
  const paths = writePaths(operations)
  const webhooks = { event: { post: writeEvent() } }
  const responses = writeRefusalComponents(operations)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Outlay',
      version: '1.0.0',
      summary: 'Moves value between bank rails and blockchains, and holds stablecoins for businesses.',
      description:
        'Every create requires an `Idempotency-Key`. When the outcome of a request is unknown, send it again with the same key: it takes effect once. Requests for ids of other clients are answered with 404.',
      contact: { name: 'Outlay', url: 'https://github.invalid/outlay/outlay' },
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: Object.entries(tags).flatMap(([name, description]) =>
      used.has(name as OperationTag) ? [{ name, description }] : [],
    ),
    paths,
    webhooks,
    components: {
      schemas: writeSchemas({ paths, webhooks, responses, idempotencyKey }),
      responses,
      headers: writeHeaderComponents(),
      parameters: { IdempotencyKey: idempotencyKey },
      securitySchemes: securitySchemes(),
    },
  }
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  description:
    'Identifies the action: 1 to 255 visible ASCII characters, preferably a UUID. Requests with the same key take effect once.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  example: '7b0c6d1e-2f83-4a5b-9c4d-0e1f2a3b4c5d',
}

function securitySchemes(): JsonObject {
  const named = Object.fromEntries(scopes.map((scope) => [scope, describeScope(scope)]))
  return {
    oauth2: {
      type: 'oauth2',
      description: 'An access token is valid for about one hour.',
      flows: { clientCredentials: { tokenUrl: '/oauth2/token', scopes: named } },
    },
    clientCredentials: { type: 'http', scheme: 'basic', description: 'Client id and client secret by HTTP Basic.' },
  }
}

function describeScope(scope: string): string {
  const [noun, verb] = scope.split(':')
  return `${verb === 'read' ? 'Read' : 'Write'} ${noun}`
}

function writePaths(operations: readonly Operation[]): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:([a-z_]+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method]: writeOperation(operation) }
  }
  return paths
}

function writeOperation(operation: Operation): JsonObject {
  const { id, tag, summary, description, deprecated, access } = operation
  const parameters = writeParameters(operation)
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    ...(deprecated === true ? { deprecated } : {}),
    security: securityOf(access),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...writeBody(operation),
    responses: { ...writeAnswers(operation), ...writeRefusals(operation) },
  }
}

function securityOf(access: Operation['access']): readonly JsonObject[] {
  if (access === undefined) return []
  // Client credentials may also be in the form.
  return access === 'client' ? [{ clientCredentials: [] }, {}] : [{ oauth2: [access] }]
}

function writeParameters({ path, query, keyed }: Operation): readonly JsonObject[] {
  const names = [...path.matchAll(/:([a-z_]+)/g)].flatMap(([, name]) => name ?? [])
  return [
    ...names.map((name) => ({ name, in: 'path', required: true, ...describeParameter(name) })),
    ...(keyed === true ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...Object.entries(query ?? {}).map(([name, schema]) => {
      const { description, ...rest } = writeSchema(schema)
      return { name, in: 'query', required: !schema.safeParse(undefined).success, description, schema: rest }
    }),
  ]
}

/** Ids of resources, except for what has a format of its own. */
function describeParameter(name: string): JsonObject {
  const noun = name.replace(/_id$/, '').replaceAll('_', ' ')
  const schema = Object.hasOwn(ownFormats, name) ? ownFormats[name] : { $ref: '#/components/schemas/Id' }
  return { description: name.endsWith('_id') ? `Id of the ${noun}.` : `The ${noun}.`, schema }
}

const ownFormats: Readonly<Record<string, JsonObject>> = {
  delivery_id: { type: 'string', pattern: '^[0-9]{1,18}$' },
  link_token: { type: 'string' },
}

function writeBody({ body, form }: Operation): JsonObject {
  const schema = body?.schema ?? form
  if (schema === undefined) return {}
  const mediaType = body === undefined ? 'application/x-www-form-urlencoded' : 'application/json'
  return { requestBody: { required: body?.optional !== true, content: { [mediaType]: writeContent(schema) } } }
}

const keyedHeaders = {
  'idempotent-replayed': { $ref: '#/components/headers/Replayed' },
  'idempotency-key-evaluated': { $ref: '#/components/headers/KeyEvaluated' },
}

function writeAnswers({ answers, keyed }: Operation): JsonObject {
  const headers = {
    'x-request-id': { $ref: '#/components/headers/RequestId' },
    ...(keyed === true ? keyedHeaders : {}),
  }
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [
      status,
      { description: answer.description, headers, ...writeAnswerContent(answer) },
    ]),
  )
}

function writeAnswerContent({ schema, mediaType = 'application/json' }: OperationAnswer): JsonObject {
  return schema === undefined ? {} : { content: { [mediaType]: writeContent(schema) } }
}

function writeContent(schema: z.ZodType): JsonObject {
  const examples = examplesOf(schema)
  const named = Object.fromEntries(examples.map((value, at) => [`example${at + 1}`, { value }]))
  return { schema: writeSchema(schema), ...(examples.length === 0 ? {} : { examples: named }) }
}

function writeEvent(): JsonObject {
  return {
    operationId: 'receiveEvent',
    tags: ['Webhooks'],
    security: [],
    summary: 'An event',
    description:
      'Sent to every webhook that subscribes to its type. It is signed as Standard Webhooks specifies (`webhook-id`, `webhook-timestamp`, `webhook-signature`) and with the hexadecimal HMAC-SHA256 of the body in `x-request-signature-sha-256`, keyed by the octets of the secret. `idempotency-key` is the id of the event as a UUID. Any 2xx acknowledges the event. The service retries after any other answer. 410 disables the webhook.',
    requestBody: { required: true, content: { 'application/json': writeContent(eventSchema) } },
    responses: { 204: { description: 'The event is acknowledged.' } },
  }
}
