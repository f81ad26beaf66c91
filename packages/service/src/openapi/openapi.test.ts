import { randomBytes } from 'node:crypto'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { z } from 'zod'
import { checkedFetch } from '../../test/contract.ts'
import { components, examplesOf } from '../schema/component.ts'
import { dialects } from '../schema/dialect.ts'
import { createService } from '../service.ts'
import { findOperation, operations, operationsOf } from './operations.ts'

/** Nothing here queries, so nothing connects. */
const pool = new Pool({ connectionString: 'postgres://127.0.0.1:1/none' })
afterAll(() => pool.end())
const service = createService({ pool, rails: 'simulated', encryptionKey: randomBytes(32) })
const get = (path: string) => checkedFetch(service.fetch)(new Request(`http://test${path}`))

/** The page and its assets, which are no operations. */
const pages = ['GET /docs', 'GET /docs/:asset']
const mounted = service.routes.map(({ method, path }) => `${method} ${path}`)

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
}
let document: Document
beforeAll(async () => {
  document = (await (await get('/openapi.json')).json()) as Document
})

it('describes every route that is mounted', () => {
  expect(mounted.filter((route) => !pages.includes(route) && !findOperation(...split(route)))).toEqual([])
})

it('describes no route that is not mounted', () => {
  const described = operations.map((one) => `${one.method.toUpperCase()} ${one.path}`)
  expect(described.filter((route) => !mounted.includes(route))).toEqual([])
  const written = Object.values(document.paths).flatMap((item) => Object.values(item).map((one) => one.operationId))
  expect(written.toSorted()).toEqual(operations.map((one) => one.id).toSorted())
  expect(new Set(written).size).toBe(written.length)
})

it('is valid OpenAPI 3.1 for an independent validator', async () => {
  const validator = new Validator()
  const result = await validator.validate({ ...structuredClone(document) })
  expect(result.errors ?? []).toEqual([])
  expect(result.valid).toBe(true)
  expect(validator.version).toBe('3.1')
})

it('gives examples that have the documented shape', () => {
  const wrong: string[] = []
  for (const operation of operations) {
    const answers = Object.values(operation.answers).map((answer) => answer.schema)
    for (const schema of [operation.body?.schema, operation.form, ...answers]) {
      if (schema === undefined) continue
      for (const example of examplesOf(schema)) {
        const parsed = schema.safeParse(example)
        if (!parsed.success) wrong.push(`${components.get(schema)?.id}: ${parsed.error.message}`)
      }
    }
  }
  expect(wrong).toEqual([])
})

it('names each member of a create in the public dialect that it has in that of the specification', () => {
  const membersOf = (dialect: (typeof dialects)[number], id: string) => {
    const schema = operationsOf(dialect).find((one) => one.id === id)?.body?.schema
    return Object.keys((schema as z.ZodObject | undefined)?.shape ?? {})
  }
  const creates = operations.filter(({ keyed, body }) => keyed === true && body !== undefined).map(({ id }) => id)
  const lacking = creates.flatMap((id) => {
    const snake = membersOf('specification', id).map((name) =>
      name.replaceAll(/[A-Z]/g, (one) => `_${one.toLowerCase()}`),
    )
    const known = membersOf('public', id)
    return snake.filter((name) => !known.includes(name)).map((name) => `${id}.${name}`)
  })
  expect(creates).toContain('createTransfer')
  expect(lacking).toEqual([])
})

it.each(dialects)(
  'gives an example of each body and each answer, and describes each operation, in the dialect %s',
  (dialect) => {
    const lacking = operationsOf(dialect).flatMap(({ id, body, form, answers, description }) => {
      const schemas = [body?.schema ?? form, ...Object.values(answers).map(({ schema }) => schema)]
      const bare = schemas.filter((schema) => schema !== undefined && examplesOf(schema).length === 0)
      return description.endsWith('.') && bare.length === 0 ? [] : [id]
    })
    expect(lacking).toEqual([])
  },
)

it('describes what a service in the public dialect has mounted, and its path of bank linking', async () => {
  const other = createService({ pool, rails: 'simulated', encryptionKey: randomBytes(32), dialect: 'public' })
  const { paths } = (await (await other.fetch(new Request('http://test/openapi.json'))).json()) as Document
  const written = Object.values(paths).flatMap((item) => Object.values(item).map((one) => one.operationId))
  expect(written.toSorted()).toEqual(
    operationsOf('public', ['plaid'])
      .map((one) => one.id)
      .toSorted(),
  )
  expect(paths['/accounts/{account_id}/plaid/link_token']?.['post']?.operationId).toBe('createLinkToken_plaid')
  const described = new Set(
    Object.entries(paths).flatMap(([path, item]) => Object.keys(item).map((one) => `${one.toUpperCase()} ${path}`)),
  )
  const routes = other.routes.map(({ method, path }) => `${method} ${path}`).filter((route) => !pages.includes(route))
  expect(routes.filter((route) => !described.has(route.replaceAll(/:([a-z_]+)/g, '{$1}')))).toEqual([])
})

it('has no dangling references', () => {
  const text = JSON.stringify(document)
  const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].flatMap(([, path]) => path ?? [])
  expect(references.length).toBeGreaterThan(100)
  const missing = references.filter((path) => {
    let value: unknown = document
    for (const name of path.split('/')) value = (value as Record<string, unknown> | undefined)?.[name]
    return value === undefined
  })
  expect(missing).toEqual([])
})

it('omits the sandbox when there is none', async () => {
  const rails = createService({ pool, rails: 'simulated', encryptionKey: randomBytes(32) }).context.rails
  const { simulation: _, ...bare } = rails as typeof rails & { simulation: unknown }
  const real = createService({ pool, rails: bare, encryptionKey: randomBytes(32) })
  const { paths } = (await (await real.fetch(new Request('http://test/openapi.json'))).json()) as Document
  expect(Object.keys(paths).filter((path) => path.startsWith('/simulations'))).toEqual([])
  expect(Object.keys(paths)).toContain('/accounts/{account_id}/transfers')
})

function split(route: string): [method: string, path: string] {
  const [method = '', path = ''] = route.split(' ')
  return [method, path]
}
