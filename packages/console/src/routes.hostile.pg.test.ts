import process from 'node:process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { consoleHost } from '../test/host.ts'
import { routes } from './routes.ts'

/** Requests to each route; more with OUTLAY_HOSTILE_REQUESTS. */
const numRuns = Number(process.env['OUTLAY_HOSTILE_REQUESTS'] ?? 12)
/** Where tests decide about a change, the requests are the same each time. */
const seed = process.env['OUTLAY_HOSTILE_SEED'] ?? (process.env['CI'] === undefined ? undefined : 7_000)

/** Texts that a person, a program or an attacker may write. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    ' ',
    '0',
    '-1',
    '1e400',
    '\0',
    '\ud800',
    "'; drop table outlay.transfer; --",
    '__proto__',
    'constructor',
  ),
  fc.constantFrom(
    'acme',
    'USD',
    'held',
    'pending',
    'default',
    'all',
    '01J0000000000000000000000A',
    '9999999999999999999',
  ),
  fc.constantFrom(
    '2026-01-01T00:00:00Z',
    '+275760-09-13T00:00:00.001Z',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59+14:00',
  ),
)
const value = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null), fc.jsonValue({ maxDepth: 2 }))

/** Names of the members that a route takes, and of some that none takes. */
const namesOf = (schema: z.ZodType | undefined): readonly string[] => [
  ...(schema instanceof z.ZodObject ? Object.keys(schema.shape) : []),
  ...['metadata[a]', '__proto__', 'toString'],
]
const some = (from: readonly string[], content: fc.Arbitrary<unknown>) =>
  fc.array(fc.tuple(fc.constantFrom(...from), content), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs))

describe('no request', async () => {
  const { call, enqueue, engine, commit } = await consoleHost()

  it.each(routes.map((route) => [route.id, route] as const))('makes %s fail without a refusal', async (_, route) => {
    const { id: transferId } = await enqueue()
    const { id: batchId } = await commit((tx) => engine.batches.create(tx, { accountId: 'acme' }))
    const known: Readonly<Record<string, string>> = { transferId, batchId, accountId: 'acme', subscription: 'books' }
    const request = fc.record({
      params: fc.boolean(),
      odd: text,
      query: some(namesOf(route.query), text),
      body: fc.oneof(
        value,
        some(namesOf(route.body), value).map((one) => ({ ...one, reason: 'a hostile test' })),
      ),
    })
    await fc.assert(
      fc.asyncProperty(request, async ({ params, odd, query, body }) => {
        const path = route.path.replaceAll(/:([a-zA-Z]+)/g, (_all, name: string) =>
          params ? (known[name] ?? '') : encodeURIComponent(odd.toWellFormed() || 'x'),
        )
        const search = new URLSearchParams(query as Record<string, string>)
        const { status, text: answered } = await call(`${route.method.toUpperCase()} ${path}?${search}`, { body })
        expect([status < 500, answered]).toEqual([true, answered])
      }),
      { numRuns, ...(seed === undefined ? {} : { seed: Number(seed) }) },
    )
  })
})
