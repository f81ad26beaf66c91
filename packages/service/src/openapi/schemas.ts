import { z } from 'zod'
import { components } from '../schema/component.ts'

/** A JSON Schema or a part of an OpenAPI document. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * Writes the named schemas for `components/schemas` that a part of the document refers to, directly or through others. Objects stay open: a
 * client ignores new members.
 */
export function writeSchemas(users: unknown): Readonly<Record<string, JsonObject>> {
  const { schemas } = z.toJSONSchema(components, { uri: refOf, io: 'input' })
  const all = new Map(
    Object.entries(schemas).map(([id, schema]) => {
      const { $id: _, $schema: __, id: ___, ...rest } = schema as Record<string, unknown>
      return [id, rest] as const
    }),
  )
  const used = new Set<string>()
  const visit = (part: unknown): void => {
    for (const id of namesIn(part)) {
      if (used.has(id)) continue
      used.add(id)
      visit(all.get(id))
    }
  }
  visit(users)
  return Object.fromEntries([...all].filter(([id]) => used.has(id)))
}

/** The schemas that a part of the document refers to. */
function namesIn(part: unknown): readonly string[] {
  const text = JSON.stringify(part) ?? ''
  return [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].flatMap(([, id]) => id ?? [])
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

function refOf(id: string): string {
  return `#/components/schemas/${id}`
}
