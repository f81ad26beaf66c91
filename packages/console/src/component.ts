import { z } from 'zod'

/** The schemas that have a name in the document. */
export const components = z.registry<{ readonly id: string }>()

/** Gives a schema its name in the document. */
export function component<S extends z.ZodType>(id: string, schema: S): S {
  components.add(schema, { id })
  return schema
}
