import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { writeOpenApi } from '../src/openapi/openapi.ts'
import { operations } from '../src/openapi/operations.ts'
import { components } from '../src/schema/component.ts'
import type { Operation } from '../src/schema/operation.ts'
import { problemSchema } from '../src/schema/problem.ts'

type JsonObject = Record<string, unknown>

const document = close(writeOpenApi({ operations })) as JsonObject
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema(document, 'api')
const validators = new Map<string, ValidateFunction>()

const routes = operations
  .map((operation) => ({
    operation,
    pattern: new RegExp(`^${operation.path.replaceAll(/:[a-z_]+/g, '[^/]+')}/?$`),
    parameters: operation.path.split(':').length,
  }))
  .sort((a, b) => a.parameters - b.parameters)

/**
 * Wraps the `fetch` of the service, or that of Node, so that every answer is checked against the OpenAPI document; members
 * that it does not name are wrong.
 */
export function checkedFetch(
  send: (request: Request) => Promise<Response>,
): (input: Request | string, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const request = new Request(input, init)
    const response = await send(request)
    await checkAnswer(request.method, new URL(request.url).pathname, response.clone())
    return response
  }
}

/**
 * Checks one answer against the document: status, media type, body and request id. What is at no documented path must at
 * least refuse as documented.
 * @throws Error that names the operation, the status and what is wrong.
 */
export async function checkAnswer(method: string, path: string, response: Response): Promise<void> {
  const { status } = response
  const text = await response.text()
  const operation = findByPath(method, path)
  if (operation === undefined) {
    if (status >= 400) check(`${method} ${path} ${status}`, refOfProblem(), text)
    return
  }
  const where = `${operation.id} ${status}`
  if (!/^.{8,64}$/.test(response.headers.get('x-request-id') ?? '')) throw new Error(`${where} has no request id.`)
  const answer = documentedAnswer(operation, status)
  const media = response.headers.get('content-type')?.split(';')[0] ?? ''
  const content = answer['content'] as Record<string, { schema: JsonObject }> | undefined
  if (content === undefined) {
    if (text !== '') throw new Error(`${where} has a body that is not documented.`)
    return
  }
  const schema = content[media]?.schema
  if (schema === undefined) throw new Error(`${where} is of the media type "${media}", which is not documented.`)
  check(where, schema, text)
}

function findByPath(method: string, path: string): Operation | undefined {
  return routes.find(({ operation, pattern }) => operation.method === method.toLowerCase() && pattern.test(path))
    ?.operation
}

function documentedAnswer(operation: Operation, status: number): JsonObject {
  const path = operation.path.replaceAll(/:([a-z_]+)/g, '{$1}')
  const found = read(document, ['paths', path, operation.method, 'responses', String(status)])
  if (found === undefined) throw new Error(`${operation.id} does not document the status ${status}.`)
  const reference = found['$ref']
  return typeof reference === 'string' ? (read(document, reference.slice(2).split('/')) ?? {}) : found
}

function read(from: JsonObject, path: readonly string[]): JsonObject | undefined {
  let value: unknown = from
  for (const name of path) value = (value as JsonObject | undefined)?.[name]
  return value as JsonObject | undefined
}

function check(where: string, schema: JsonObject, text: string): void {
  const key = JSON.stringify(schema)
  let validate = validators.get(key)
  if (validate === undefined) {
    validate = ajv.compile(rebase(schema))
    validators.set(key, validate)
  }
  if (validate(JSON.parse(text))) return
  const faults = validate.errors?.map((one) => `${one.instancePath} ${one.message} ${JSON.stringify(one.params)}`)
  throw new Error(`${where} is not as documented: ${faults?.join('; ')}\n${text}`)
}

/** References point into the document. */
function rebase(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as JsonObject
}

function refOfProblem(): JsonObject {
  return { $ref: `#/components/schemas/${components.get(problemSchema)?.id}` }
}

/** The document in which every object has the members that are named and no others. */
function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, close(inner)]))
  const isSchema = copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy)
  return isSchema ? { ...copy, additionalProperties: false } : copy
}
