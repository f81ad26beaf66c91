import { diagnoseControl, examine } from '@outlay/cli/checks'
import type { StopTarget } from '@outlay/core'
import { z } from 'zod'
import { permissionNames } from '../authorization/authorization.ts'
import { component } from '../component.ts'
import { foreignText } from '../redaction.ts'
import { route } from '../routing/route.ts'
import { reasonSchema, sinceBody } from '../transfers/actions.ts'

const nullableText = z.string().nullable()
const accountsSchema = z.union([z.literal('all'), z.array(z.string())])

const showPerson = route({
  id: 'showPerson',
  tag: 'Operations',
  method: 'get',
  path: '/me',
  summary: 'Who asks, and what they may do',
  permission: 'read',
  about: 'anybody',
  answer: component(
    'Person',
    z.object({
      actor: z.string(),
      roles: z.array(z.string()),
      permissions: z.object(Object.fromEntries(permissionNames.map((name) => [name, accountsSchema]))),
    }),
  ),
  handle: async ({ person }) => person,
})

const showBacklog = route({
  id: 'showBacklog',
  tag: 'Operations',
  method: 'get',
  path: '/backlog',
  summary: 'Counts of transfers and events, and whether workers run',
  permission: 'read',
  about: 'all',
  answer: component(
    'Backlog',
    z.object({
      held: z.int(),
      queued: z.int(),
      submitting: z.int(),
      awaitingFunds: z.int(),
      submitted: z.int(),
      blocked: z.int(),
      settled: z.int().meta({ description: 'Exact up to about 20,000 transfers, an estimate beyond.' }),
      undelivered: z.int(),
      deadLetters: z.int(),
      workers: z.object({
        supervisedMs: z
          .number()
          .nullable()
          .meta({ description: 'Since a running engine supervised the queue, which it does every five seconds.' }),
        listening: z.int(),
        claiming: z.int(),
      }),
    }),
  ),
  async handle({ context: { inspection, figures } }) {
    const backlog = await figures('backlog', (reads) => reads.backlog())
    return { ...backlog, workers: await inspection.workers() }
  },
})

const runDoctor = route({
  id: 'runDoctor',
  tag: 'Operations',
  method: 'get',
  path: '/doctor',
  summary: 'Problems of the engine and its database, each with its cure; serious ones first',
  permission: 'read',
  about: 'all',
  answer: component(
    'Diagnosis',
    z.object({
      healthy: z.boolean(),
      findings: z.array(
        z.object({
          code: z.string(),
          severity: z.enum(['serious', 'warning']),
          what: foreignText,
          cure: foreignText,
        }),
      ),
    }),
  ),
  async handle({ context: { reads, schema, figures } }) {
    const findings = await figures('doctor', ({ inspection }) =>
      examine(
        { inspection, schema, database: 'of this console', server: 'its server' },
        { findMore: () => diagnoseControl({ engine: reads, inspection }) },
      ),
    )
    return { healthy: findings.every(({ severity }) => severity !== 'serious'), findings }
  },
})

const stopSchema = z.object({
  scope: z.enum(['all', 'gateway', 'account']),
  name: nullableText,
  since: z.string(),
  reason: foreignText.nullable(),
  actor: nullableText,
})

const showSending = route({
  id: 'showSending',
  tag: 'Operations',
  method: 'get',
  path: '/sending',
  summary: 'Whether anything is sent from this database, and why not',
  permission: 'read',
  about: 'all',
  answer: component(
    'Sending',
    z.object({
      unfamiliar: nullableText,
      fence: z.object({ since: z.string(), reason: foreignText.nullable(), actor: nullableText }).nullable(),
      stops: z.array(stopSchema),
    }),
  ),
  handle: ({ context }) => context.reads.sending(),
})

const targetSchema = {
  scope: z.enum(['all', 'gateway']),
  name: z.string().min(1).max(63).optional().meta({ description: 'The gateway, with that scope.' }),
}
const stopBody = component('StopRequest', z.strictObject({ reason: reasonSchema, ...targetSchema }))
const startBody = component('StartRequest', sinceBody.extend(targetSchema))

const stoppedSchema = component(
  'Stopped',
  z.object({
    changed: z.boolean().meta({ description: 'False when it was so before.' }),
    stop: stopSchema.nullable().meta({
      description: 'Where it was stopped before: that stop. Whoever ends it ends it for all.',
    }),
  }),
)

const targetOf = ({ scope, name }: Pick<z.output<typeof stopBody>, 'scope' | 'name'>): StopTarget =>
  (scope === 'all' && name === undefined ? { scope } : { scope, name }) as StopTarget

const about = { tag: 'Operations', method: 'post', about: 'all', permission: 'act', answer: stoppedSchema } as const

const addStop = route({
  ...{ ...about, id: 'addStop', path: '/stops/add', body: stopBody, isUrgent: true },
  summary: 'Stops sending, of everything or of one gateway, in every worker',
  async handle({ context, person, body }) {
    const { actor } = person
    const target = targetOf(body)
    const done = await context.holdBack(actor, async (tx) => ({
      changed: await context.engine.stops.add(tx, { ...target, reason: body.reason, actor }),
      stop: null,
    }))
    if (done.changed) return done
    const stops = await context.reads.stops.list().catch(() => [])
    const name = body.name ?? null
    return { ...done, stop: stops.find((one) => one.scope === target.scope && one.name === name) ?? null }
  },
})

const endStop = route({
  ...{ ...about, id: 'endStop', path: '/stops/end', body: startBody },
  summary: 'Ends such a stop',
  handle: ({ context, person, body }) =>
    context.act(person.actor, async (tx, record) => {
      const { actor } = person
      const { reason, since } = body
      const changed = await context.engine.stops.end(tx, { ...targetOf(body), reason, actor, since })
      if (changed) await record({ command: 'stops.end', reason, before: targetOf(body) })
      return { changed, stop: null }
    }),
})

/** What is about the engine as a whole. */
export const operationRoutes = [showPerson, showBacklog, runDoctor, showSending, addStop, endStop] as const
