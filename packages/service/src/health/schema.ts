import { z } from 'zod'
import { component } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'

const healthSchema = component('Health', z.object({ healthy: z.literal(true) }), {
  description: 'The process is alive.',
  examples: [{ healthy: true }],
})

const readinessSchema = component(
  'Readiness',
  z.object({
    ready: z.boolean().meta({ description: 'True when all of the following are true.' }),
    database: z.boolean().meta({ description: 'The database answers.' }),
    migrated: z.boolean().meta({ description: 'The tables match this release.' }),
    engine: z.boolean().meta({ description: 'The workers of this process are running.' }),
    keys: z.boolean().meta({ description: 'The encryption keys of this process are those of the database.' }),
  }),
  {
    description: 'Whether each dependency of the process is available.',
    examples: [{ ready: true, database: true, migrated: true, engine: true, keys: true }],
  },
)

const documentSchema = component('OpenApiDocument', z.record(z.string(), z.unknown()), {
  description: 'OpenAPI 3.1.',
  examples: [{ openapi: '3.1.0' }],
})

/** Operations that check the process. */
export const serviceOperations: readonly Operation[] = [
  {
    id: 'getHealth',
    method: 'get',
    path: '/health',
    tag: 'Service',
    summary: 'Check whether the process is alive',
    description: 'It answers as long as the process does. Restart the process when it does not.',
    answers: { 200: { description: 'The process is alive.', schema: healthSchema } },
  },
  {
    id: 'getReadiness',
    method: 'get',
    path: '/ready',
    tag: 'Service',
    summary: 'Check whether the process is ready',
    description:
      'True when the database answers, its tables are of this release, the workers run, and the encryption keys are those of the database.',
    answers: {
      200: { description: 'The process is ready.', schema: readinessSchema },
      503: { description: 'A dependency is not available.', schema: readinessSchema },
    },
  },
  {
    id: 'getOpenApiDocument',
    method: 'get',
    path: '/openapi.json',
    tag: 'Service',
    summary: 'Read this document',
    description: 'OpenAPI 3.1, of what this process has and of the dialect that it speaks.',
    answers: { 200: { description: 'The document.', schema: documentSchema } },
  },
]
