import { expect, it } from 'vitest'
import { checkAnswer } from '../test/contract.ts'

const headers = { 'content-type': 'application/json', 'x-request-id': 'request-1' }
const answer = (body: unknown, status = 200, more: Readonly<Record<string, string>> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { ...headers, ...more } })
const check = (response: Response, path = '/accounts') => checkAnswer('GET', path, response)

const id = '01K8ACC0VNTX5R2D7Q3M9W1ZEB'

it('accepts a documented answer', async () => {
  await check(answer({ accounts: [id] }))
  await check(answer({ balances: [] }), `/accounts/${id}/balances`)
})

it.each([
  ['a member that is not documented', answer({ accounts: [id], more: 1 })],
  ['a member of another shape', answer({ accounts: ['short'] })],
  ['a missing member', answer({})],
  ['a status that is not documented', answer({ accounts: [id] }, 202)],
  ['another media type', answer({ accounts: [id] }, 200, { 'content-type': 'text/plain' })],
  ['no request id', answer({ accounts: [id] }, 200, { 'x-request-id': '' })],
  ['a refusal that is no problem', answer({ error: 'no' }, 404, { 'content-type': 'application/problem+json' })],
])('refuses %s', async (_, response) => {
  await expect(check(response)).rejects.toThrow()
})

it('refuses an answer to an unknown path that is not a problem', async () => {
  await expect(check(answer({ error: 'no' }, 404), '/nothing')).rejects.toThrow('not as documented')
})
