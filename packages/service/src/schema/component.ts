import { z } from 'zod'

/** Schemas that have a name under `components/schemas` of the OpenAPI document. */
export const components = z.registry<{ readonly id: string }>()

/** What the document says about a schema besides its shape. */
export interface SchemaNotes {
  readonly description: string
  /** Complete valid values. */
  readonly examples?: readonly unknown[]
}

/** Gives a schema its name in the OpenAPI document. Other schemas then refer to it by that name. */
export function component<Schema extends z.ZodType>(id: string, schema: Schema, notes: SchemaNotes): Schema {
  const { description, examples } = notes
  const described = schema.meta({ description, ...(examples === undefined ? {} : { examples: [...examples] }) })
  components.add(described, { id })
  return described
}

/** The examples of a schema. */
export function examplesOf(schema: z.ZodType): readonly unknown[] {
  const examples = schema.meta()?.['examples']
  return Array.isArray(examples) ? examples : []
}

/**
 * The first example of a schema, as a part of another one.
 * @throws Error when it has none.
 */
export function exampleOf(schema: z.ZodType): unknown {
  const [first] = examplesOf(schema)
  if (first === undefined) throw new Error('A schema without an example is part of an example.')
  return first
}

/** The example of a page. */
export const lastPage = { next: null, prev: null } as const
