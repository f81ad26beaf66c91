import { expect, it } from 'vitest'
import { z } from 'zod'
import { checkShape } from '../http/body-shape.ts'
import { operations } from './operations.ts'

interface Node {
  readonly type?: string
  readonly maxLength?: number
  readonly maxItems?: number
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly items?: Node
  readonly properties?: Readonly<Record<string, Node>>
  readonly anyOf?: readonly Node[]
}

/** Bodies that a client sends; a query is as long as headers may be. Records of any members are bounded as the body is. */
const requests = operations.flatMap(({ id, body, form }) => {
  const checked = typeof body?.check === 'function' ? [{}, { owner: '' }].map(body.check) : []
  return [body?.schema, form, ...checked].flatMap((schema) => (schema === undefined ? [] : [[id, schema] as const]))
})

/** The paths of arrays and texts without a limit. */
function unbounded(node: Node, path: string): readonly string[] {
  const isText = node.type === 'string' && node.enum === undefined && node.const === undefined
  const isBounded = node.type === 'array' ? node.maxItems !== undefined : !isText || node.maxLength !== undefined
  const inner: [string, Node][] = [
    ...Object.entries(node.properties ?? {}),
    ...(node.anyOf ?? []).map((one, at): [string, Node] => [`any${at}`, one]),
    ...(node.items === undefined ? [] : [['items', node.items] as [string, Node]]),
  ]
  return [...(isBounded ? [] : [path]), ...inner.flatMap(([name, one]) => unbounded(one, `${path}.${name}`))]
}

it('every array and every text of a request has a limit', () => {
  expect(requests.length).toBeGreaterThan(20)
  const found = requests.flatMap(([id, schema]) => unbounded(z.toJSONSchema(schema, { io: 'input' }) as Node, id))
  expect(found).toEqual([])
  expect(unbounded({ type: 'array', items: { type: 'string' } }, 'x')).toEqual(['x', 'x.items'])
})

it('an array of a hundred thousand is refused by one sentence', () => {
  const items = Array.from({ length: 100_000 }, () => 1)
  const body = operations.find(({ id }) => id === 'createExternalAddress')?.body
  if (body === undefined) throw new Error('There is no such operation.')
  const wallet = { name: 'a', address: 'b' }
  expect(() => checkShape(body, { ...wallet, transfer_types: items })).toThrow(
    expect.objectContaining({
      issues: [{ field: 'transfer_types', code: 'invalid_request', message: 'must have at most 100 items' }],
    }),
  )
})
