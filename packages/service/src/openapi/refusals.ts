import { exampleOf } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import { problemSchema } from '../schema/problem.ts'
import { type JsonObject, writeSchema } from './schemas.ts'

const requestId = { 'x-request-id': { $ref: '#/components/headers/RequestId' } }
const retryAfter = { 'retry-after': { $ref: '#/components/headers/RetryAfter' } }

const kinds = {
  400: { name: 'BadRequest', description: 'The request cannot be read, or its Idempotency-Key is missing.' },
  401: { name: 'Unauthenticated', description: 'The access token is missing, expired, revoked or unknown.' },
  403: { name: 'Forbidden', description: 'The access token lacks the scope.' },
  404: { name: 'NotFound', description: 'An id in the path is unknown, malformed or of another client.' },
  409: {
    name: 'Conflict',
    description: 'The state of the resource does not allow it, or a request with this key is in progress.',
  },
  413: { name: 'TooLarge', description: 'The body is too large.' },
  415: { name: 'UnsupportedMediaType', description: 'The body is not JSON.' },
  422: { name: 'Unprocessable', description: 'The request breaks a rule. `errors` names every broken rule.' },
  429: { name: 'TooManyRequests', description: 'The client sends too many requests. Send it again with the same key.' },
  500: { name: 'InternalError', description: 'The service failed. Send it again with the same key.' },
  503: { name: 'Unavailable', description: 'The service is temporarily unavailable. Send it again with the same key.' },
} as const

type RefusalStatus = keyof typeof kinds

/** Statuses of the refusals that an operation may answer with. They follow from its parameters and its body. */
function refusalStatuses(operation: Operation): readonly RefusalStatus[] {
  const { access, body, conflicts, form, keyed, path, query } = operation
  const token = access !== undefined && access !== 'client'
  const found: readonly (readonly [boolean, readonly RefusalStatus[]])[] = [
    [keyed === true, [400, 409]],
    [body !== undefined || keyed === true, [400, 413, 415, 422]],
    [form !== undefined, [413]],
    [query !== undefined, [422]],
    [conflicts === true, [409, 422]],
    [token, [401, 403]],
    [token && path.includes(':'), [404]],
    [operation.tag === 'Sandbox', [404, 409, 422]],
    [access !== undefined, [429, 500, 503]],
  ]
  const statuses = new Set(found.flatMap(([applies, some]) => (applies ? some : [])))
  return [...statuses].filter((status) => operation.answers[status] === undefined).sort((a, b) => a - b)
}

/** References to the refusals of an operation, by status. */
export function writeRefusals(operation: Operation): JsonObject {
  const entries = refusalStatuses(operation).map((status) => [status, { $ref: refOf(status) }])
  return Object.fromEntries(operation.access === undefined ? [...entries, ['4XX', serverRefusal]] : entries)
}

/** What a public operation may be refused with: it has no rules of its own. */
const serverRefusal = { description: 'The server refuses the request, such as for headers that are too large.' }

/** The members of `components/responses` that the operations refer to. */
export function writeRefusalComponents(operations: readonly Operation[]): JsonObject {
  const used = new Set(operations.flatMap(refusalStatuses).map(String))
  const entries = Object.entries(kinds)
    .filter(([status]) => used.has(status))
    .map(([status, { name, description }]) => [
      name,
      { description, headers: headersOf(Number(status)), content: { 'application/problem+json': problem() } },
    ])
  return Object.fromEntries(entries)
}

/** Headers of answers. */
export function writeHeaderComponents(): JsonObject {
  return {
    RequestId: {
      description:
        'Identifies the request in the logs. The service adopts the one of the request when it has 8 to 64 letters, digits, `_` and `-`.',
      schema: { type: 'string' },
    },
    Replayed: {
      description: '`true` when the answer is the stored answer to an earlier request with this key.',
      schema: { type: 'string', enum: ['true'] },
    },
    KeyEvaluated: {
      description:
        '`true` when the service checked the idempotency key before it decided. A refusal without it says nothing about an earlier request with the key.',
      schema: { type: 'string', enum: ['true'] },
    },
    RetryAfter: { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  }
}

function headersOf(status: number): JsonObject {
  if (status === 409 || status === 429 || status === 503) return { ...requestId, ...retryAfter }
  if (status !== 401) return requestId
  return { ...requestId, 'www-authenticate': { schema: { type: 'string' } } }
}

function problem(): JsonObject {
  return { schema: writeSchema(problemSchema), examples: { example1: { value: exampleOf(problemSchema) } } }
}

function refOf(status: RefusalStatus): string {
  return `#/components/responses/${kinds[status].name}`
}
