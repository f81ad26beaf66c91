import { z } from 'zod'
import { components } from '../component.ts'
import { problemSchema } from '../http/problem.ts'
import { ownHeader } from '../http/same-origin.ts'
import type { Route } from '../routing/route.ts'

/** A JSON Schema, or a part of a document. */
export type JsonObject = Readonly<Record<string, unknown>>

const refOf = (id: string): string => `#/components/schemas/${id}`

/** Writes the OpenAPI 3.1 document of routes. */
export function writeOpenApi(routes: readonly Route[], version: string): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:([a-zA-Z]+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method]: writeOperation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Outlay console',
      version,
      summary: 'What operators see of payouts, and what they do about them.',
      description:
        'The host says who sends a request and what they may do. What is of an account that they may not read is not found, as if it did not exist. Each action and its entry of the audit are one transaction.',
    },
    servers: [{ url: '.' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { schemas: writeComponents(), securitySchemes: { host: hostScheme } },
    security: [{ host: [] }],
  }
}

const hostScheme = {
  type: 'http',
  scheme: 'bearer',
  description: 'Whatever the `authorize` function of the host reads: a session, a token.',
}

function writeComponents(): JsonObject {
  const { schemas } = z.toJSONSchema(components, { uri: refOf, io: 'input', unrepresentable: 'any' })
  const written = Object.entries(schemas).map(([id, schema]) => {
    const { $id: _, $schema: __, id: ___, ...rest } = schema as Record<string, unknown>
    return [id, rest] as const
  })
  return Object.fromEntries(written)
}

function writeSchema(schema: z.ZodType): JsonObject {
  const id = components.get(schema)?.id
  if (id !== undefined) return { $ref: refOf(id) }
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Record<
    string,
    unknown
  >
  return rest
}

function writeOperation(route: Route): JsonObject {
  const { id, tag, summary, permission, about, body, answer, media = 'application/json' } = route
  const parameters = writeParameters(route)
  const content = (schema: z.ZodType, type = 'application/json') => ({ [type]: { schema: writeSchema(schema) } })
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(about === 'anybody' ? {} : { description: `Needs the permission \`${permission}\`.` }),
    'x-permission': permission,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: content(body) } }),
    responses: {
      200: { description: 'Done.', content: content(answer, media) },
      default: {
        description: 'A refusal, with what to do next.',
        content: { 'application/problem+json': { schema: writeSchema(problemSchema) } },
      },
    },
  }
}

function writeParameters({ path, query, method }: Route): readonly JsonObject[] {
  const names = [...path.matchAll(/:([a-zA-Z]+)/g)].flatMap(([, name]) => name ?? [])
  const shape = query instanceof z.ZodObject ? (query.shape as Readonly<Record<string, z.ZodType>>) : {}
  return [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(shape).map(([name, schema]) => {
      const { description, ...rest } = writeSchema(schema)
      const style = name === 'metadata' ? { style: 'deepObject', explode: true } : {}
      const required = !schema.safeParse(undefined).success
      return { name, in: 'query', required, description, ...style, schema: rest }
    }),
    ...(method === 'get' ? [] : [ownHeaderParameter]),
  ]
}

const ownHeaderParameter = {
  name: ownHeader,
  in: 'header',
  required: false,
  description: 'Any value. Needed unless a browser says that its page is of the same origin.',
  schema: { type: 'string' },
}
