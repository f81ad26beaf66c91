import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

type JsonObject = Readonly<Record<string, unknown>>

interface Route {
  readonly name: string
  readonly pattern: RegExp
  readonly parameters: number
  readonly responses: JsonObject
}

/** The methods of an OpenAPI path. */
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** A `fetch` that checks each answer of a service against the service's document. */
export interface DocumentedFetch {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Operations and statuses checked so far, for example `GET /accounts 200`. */
  readonly checked: ReadonlySet<string>
}

/**
 * Reads `/openapi.json` below the base address, and makes a `fetch` that rejects when an answer has a status, a media type
 * or a body that the document does not have, or a member that it does not name. An undocumented path must be refused, as a
 * problem.
 */
export async function openDocumentedFetch(baseUrl: string): Promise<DocumentedFetch> {
  const document = close(await (await fetch(`${baseUrl}/openapi.json`)).json()) as JsonObject
  const routes = routesOf(document)
  const check = createCheck(document)
  const checked = new Set<string>()
  return {
    checked,
    async fetch(url, init) {
      const response = await fetch(url, init)
      const path = new URL(url).pathname.slice(new URL(baseUrl).pathname.replace(/\/$/, '').length)
      const method = (init.method ?? 'GET').toUpperCase()
      const route = routes.find(({ name, pattern }) => name.startsWith(`${method} `) && pattern.test(path))
      const text = await response.clone().text()
      if (route === undefined) {
        if (response.ok) throw new Error(`${method} ${path} answers ${response.status}, and is not documented.`)
        check(`${method} ${path} ${response.status}`, { $ref: '#/components/schemas/Problem' }, text)
      } else {
        checkAnswer(route, document, response, text, check)
        checked.add(`${route.name} ${response.status}`)
      }
      return response
    },
  }
}

type Check = (where: string, schema: JsonObject, text: string) => void

function checkAnswer(route: Route, document: JsonObject, response: Response, text: string, check: Check): void {
  const where = `${route.name} ${response.status}`
  if (!/^.{8,64}$/.test(response.headers.get('x-request-id') ?? '')) throw new Error(`${where} has no request id.`)
  const answer = resolve(document, route.responses[String(response.status)])
  if (answer === undefined) throw new Error(`${where} is not a documented status.\n${text}`)
  const content = answer['content'] as Readonly<Record<string, { readonly schema: JsonObject }>> | undefined
  if (content === undefined) {
    if (text !== '') throw new Error(`${where} has a body that is not documented.`)
    return
  }
  const media = response.headers.get('content-type')?.split(';')[0] ?? ''
  const schema = content[media]?.schema
  if (schema === undefined) throw new Error(`${where} is of the media type "${media}", which is not documented.`)
  check(where, schema, text)
}

/** Routes of a document, those with the fewest parameters first. */
function routesOf(document: JsonObject): readonly Route[] {
  const paths = document['paths'] as Readonly<Record<string, JsonObject>>
  return Object.entries(paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method]) => methods.includes(method))
        .map(([method, operation]) => ({
          name: `${method.toUpperCase()} ${path}`,
          pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}/?$`),
          parameters: path.split('{').length,
          responses: (operation as { readonly responses: JsonObject }).responses,
        })),
    )
    .sort((a, b) => a.parameters - b.parameters)
}

function resolve(document: JsonObject, value: unknown): JsonObject | undefined {
  const reference = (value as JsonObject | undefined)?.['$ref']
  if (typeof reference !== 'string') return value as JsonObject | undefined
  let found: unknown = document
  for (const name of reference.slice(2).split('/')) found = (found as JsonObject | undefined)?.[name]
  return found as JsonObject | undefined
}

function createCheck(document: JsonObject): Check {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema(document, 'api')
  const validators = new Map<string, ValidateFunction>()
  return (where, schema, text) => {
    const absolute = JSON.stringify(schema).replaceAll('"#/', '"api#/')
    const validate = validators.get(absolute) ?? ajv.compile(JSON.parse(absolute))
    validators.set(absolute, validate)
    if (validate(JSON.parse(text))) return
    const faults = validate.errors?.map((one) => `${one.instancePath} ${one.message} ${JSON.stringify(one.params)}`)
    throw new Error(`${where} is not as documented: ${faults?.join('; ')}\n${text}`)
  }
}

/** The document in which every object has only the named members. */
function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, close(inner)]))
  const isSchema = copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy)
  return isSchema ? { ...copy, additionalProperties: false } : copy
}
