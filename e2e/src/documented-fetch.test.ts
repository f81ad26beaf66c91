import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, it } from 'vitest'
import { openDocumentedFetch } from './documented-fetch.ts'

const note = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } }
const json = (schema: unknown) => ({ content: { 'application/json': { schema } } })
const document = {
  openapi: '3.1.0',
  paths: {
    '/notes': { get: { responses: { 200: json({ type: 'array', items: { $ref: '#/components/schemas/Note' } }) } } },
    '/notes/{id}': {
      get: {
        responses: { 200: json({ $ref: '#/components/schemas/Note' }), 404: { $ref: '#/components/responses/No' } },
      },
    },
  },
  components: {
    schemas: { Note: note, Problem: { type: 'object', required: ['code'], properties: { code: { type: 'string' } } } },
    responses: { No: json({ $ref: '#/components/schemas/Problem' }) },
  },
}

/** Answers every path but the document's as the request's headers ask. */
const server = createServer((request, response) => {
  const { status = '200', media = 'application/json', answer = '', id = 'request-1' } = request.headers
  const isDocument = request.url === '/api/openapi.json'
  response.writeHead(isDocument ? 200 : Number(status), { 'content-type': String(media), 'x-request-id': String(id) })
  response.end(isDocument ? JSON.stringify(document) : answer)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
afterAll(() => server.close())
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`
const documented = await openDocumentedFetch(baseUrl)
const get = (path: string, answer: unknown, headers: Readonly<Record<string, string>> = {}) =>
  documented.fetch(`${baseUrl}${path}`, { headers: { ...headers, answer: JSON.stringify(answer) } })

it('lets answers through that are as documented, and names them', async () => {
  expect(await (await get('/notes?page=1', [{ id: 'a' }])).json()).toEqual([{ id: 'a' }])
  await get('/notes/a', { code: 'not_found' }, { status: '404' })
  await get('/elsewhere', { code: 'not_found' }, { status: '404' })
  expect([...documented.checked]).toEqual(['GET /notes 200', 'GET /notes/{id} 404'])
})

it.each<[string, string, unknown, Readonly<Record<string, string>>]>([
  ['a member of another type', '/notes', [{ id: 1 }], {}],
  ['a member that is not documented', '/notes/a', { id: 'a', more: true }, {}],
  ['a missing member', '/notes/a', {}, {}],
  ['a status that is not documented', '/notes', [], { status: '201' }],
  ['another media type', '/notes', [], { media: 'text/plain' }],
  ['no request id', '/notes', [], { id: '' }],
  ['a refusal that is no problem', '/notes/a', { error: 'no' }, { status: '404' }],
  ['success at a path that is not documented', '/elsewhere', {}, {}],
])('refuses %s', async (_, path, answer, headers) => {
  await expect(get(path, answer, headers)).rejects.toThrow()
})
