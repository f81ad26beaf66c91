import { z } from 'zod'
import { components } from '../schema/component.ts'

/** A JSON Schema or a part of an OpenAPI document. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Writes every named schema for `components/schemas`. Objects stay open: a client ignores new members. */
export function writeSchemas(): Readonly<Record<string, JsonObject>> {
  const { schemas } = z.toJSONSchema(components, { uri: refOf, io: 'input' })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => {
      const { $id: _, $schema: __, id: ___, ...rest } = schema as Record<string, unknown>
      return [id, rest]
    }),
  )
}

/**
 * Writes one schema inline: a reference when it has a name, else the schema itself.
 * @throws Error for a schema without a name that has members with one.
 */
export function writeSchema(schema: z.ZodType): JsonObject {
  const id = components.get(schema)?.id
  if (id !== undefined) return { $ref: refOf(id) }
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown>
  return rest
}

/** The examples of a schema. */
export function examplesOf(schema: z.ZodType): readonly unknown[] {
  const examples = schema.meta()?.['examples']
  return Array.isArray(examples) ? examples : []
}

function refOf(id: string): string {
  return `#/components/schemas/${id}`
}
