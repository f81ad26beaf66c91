import { z } from 'zod'
import { component } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'

const healthSchema = component('Health', z.object({ healthy: z.literal(true) }), {
  description: 'The process answers.',
  examples: [{ healthy: true }],
})

const readinessSchema = component(
  'Readiness',
  z.object({
    ready: z.boolean().meta({ description: 'All of the following.' }),
    database: z.boolean().meta({ description: 'The database answers.' }),
    migrated: z.boolean().meta({ description: 'Its tables are of this release.' }),
    engine: z.boolean().meta({ description: 'The workers of this process run.' }),
  }),
  {
    description: 'What the process needs to do its work.',
    examples: [{ ready: true, database: true, migrated: true, engine: true }],
  },
)

const documentSchema = component('OpenApiDocument', z.record(z.string(), z.unknown()), {
  description: 'OpenAPI 3.1.',
})

/** How the process itself is looked at. */
export const serviceOperations: readonly Operation[] = [
  {
    id: 'getHealth',
    method: 'get',
    path: '/health',
    tag: 'Service',
    summary: 'See whether the process lives',
    answers: { 200: { description: 'It does.', schema: healthSchema } },
  },
  {
    id: 'getReadiness',
    method: 'get',
    path: '/ready',
    tag: 'Service',
    summary: 'See whether the process can work',
    answers: {
      200: { description: 'It can.', schema: readinessSchema },
      503: { description: 'Something is missing.', schema: readinessSchema },
    },
  },
  {
    id: 'getOpenApiDocument',
    method: 'get',
    path: '/openapi.json',
    tag: 'Service',
    summary: 'Read this document',
    answers: { 200: { description: 'The document.', schema: documentSchema } },
  },
]
