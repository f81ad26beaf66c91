import { writeOpenApi } from '../../packages/service/src/openapi/openapi.ts'
import { operations } from '../../packages/service/src/openapi/operations.ts'
import type { Operation } from '../../packages/service/src/schema/operation.ts'
import { code, type Page, paragraphs, phraseOf, table } from './markdown.ts'
import { placeSchemas, type Schema, type SchemaPlaces, writeSchemaMembers, writeType } from './schemas.ts'

/** Pages of the HTTP API by the tag of their operations, in the order of the index. */
const pages: Readonly<Record<Operation['tag'], string>> = {
  Accounts: 'accounts',
  Addresses: 'addresses',
  Balances: 'balances',
  Transfers: 'transfers',
  Quotes: 'quotes',
  Tokens: 'tokens',
  Automations: 'automations',
  'Bank linking': 'bank-links',
  'Financial institutions': 'financial-institutions',
  Webhooks: 'webhooks',
  Sandbox: 'sandbox',
  Authentication: 'authentication',
  Service: 'service',
}

interface Described {
  readonly summary: string
  readonly description?: string
  readonly parameters?: readonly Record<string, unknown>[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<Record<string, Record<string, unknown>>>
}

const document = writeOpenApi({ operations }) as {
  readonly tags: readonly { readonly name: Operation['tag']; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly webhooks: Readonly<Record<string, unknown>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** One page for each resource of the HTTP API, and one for shared members. */
export function writeResources(): readonly Page[] {
  const usage = Object.fromEntries(
    Object.entries(pages).map(([tag, page]) => [
      page,
      [operations.filter((one) => one.tag === tag).map(describe), tag === 'Webhooks' ? document.webhooks : []],
    ]),
  )
  const places = placeSchemas(document.components.schemas, usage, 'conventions')
  const described = new Map(document.tags.map(({ name, description }) => [name, description]))
  const resources = Object.entries(pages).map(([tag, name]): Page => {
    const own = operations.filter((one) => one.tag === tag)
    const summary = described.get(tag as Operation['tag']) ?? ''
    return {
      name,
      title: tag,
      summary: phraseOf(summary),
      body: paragraphs(summary, ...own.map((one) => writeOperation(one, places, name)), writeSchemas(places, name)),
    }
  })
  const shared: Page = {
    name: 'conventions',
    title: 'Conventions of the HTTP API',
    summary: 'members that several resources share, and the body of a refusal',
    body: paragraphs(
      'Bodies are JSON in snake_case. Unknown members of a request are ignored. `/openapi.json` of a running service has the same as OpenAPI 3.1.',
      writeSchemas(places, 'conventions'),
    ),
  }
  return [...resources, shared]
}

function writeSchemas(places: SchemaPlaces, page: string): string {
  const own = Object.entries(document.components.schemas).filter(([name]) => places.get(name) === page)
  return paragraphs(...own.map(([name, schema]) => writeSchemaMembers(name, schema, places, page)))
}

const bracedPath = ({ path }: Operation): string => path.replaceAll(/:([a-z_]+)/g, '{$1}')

function describe(operation: Operation): Described {
  const described = document.paths[bracedPath(operation)]?.[operation.method]
  if (described === undefined) throw new Error(`The document has no ${operation.id}.`)
  return described
}

function writeOperation(operation: Operation, places: SchemaPlaces, page: string): string {
  const described = describe(operation)
  const line = `${operation.method.toUpperCase()} ${bracedPath(operation)}`
  const needs = [
    operation.access === undefined
      ? 'Public'
      : operation.access === 'client'
        ? 'Client credentials'
        : `Scope ${code(operation.access)}`,
    ...(operation.keyed === true ? ['needs an `Idempotency-Key`'] : []),
    ...(operation.deprecated === true ? ['kept for existing integrations only'] : []),
  ]
  const query = (described.parameters ?? []).filter((one) => one['in'] === 'query')
  return paragraphs(
    `## ${described.summary}`,
    ['```http', line, '```'].join('\n'),
    described.description,
    `${needs.join('; ')}.`,
    table(
      ['query', 'type', 'what it does'],
      query.map((one) => [
        `${code(String(one['name']))}${one['required'] === true ? ', required' : ''}`,
        writeType(one['schema'] as Schema, places, page),
        String(one['description'] ?? ''),
      ]),
    ),
    writeBodies(described, places, page),
  )
}

function writeBodies({ requestBody, responses }: Described, places: SchemaPlaces, page: string): string {
  const bodies = (content: unknown) =>
    Object.values((content ?? {}) as Record<string, { schema: Schema }>).map(({ schema }) =>
      writeType(schema, places, page),
    )
  const rows = Object.entries(responses).flatMap(([status, response]) => {
    const { description, content } = response as { description?: string; content?: unknown }
    return description === undefined ? [] : [[status, bodies(content).join(', ') || '–', description]]
  })
  const refusals = Object.entries(responses).flatMap(([status, response]) => ('$ref' in response ? [status] : []))
  const sent = bodies(requestBody?.content)
  return paragraphs(
    ...(sent.length === 0 ? [] : [`Body: ${sent.join(' or ')}.`]),
    table(['answer', 'body', 'meaning'], rows),
    ...(refusals.length === 0 ? [] : [`Refusals: ${refusals.join(', ')}; see [Errors](errors.md).`]),
  )
}
