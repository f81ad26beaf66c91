import { OutlayError } from '@outlay/core'
import { expect, it } from 'vitest'
import { thingsService } from '../../test/things.ts'

const { pool, logger, failures, service, open, token, accountId, path, whileHeld, ...things } = await thingsService()
const post = (key: string, name: string, at = path) => things.post({ at, key, body: { name } })
const effects = async (name: string) =>
  Number((await pool.query('select count(*) from effect where name = $1', [name])).rows[0].count)

it('has one effect and one answer for a hundred requests at once with one key', async () => {
  const answers = await Promise.all(Array.from({ length: 100 }, () => post('same', 'hundred')))
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([201]))
  expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
  expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')).toHaveLength(99)
  expect(await effects('hundred')).toBe(1)
})

it('has one effect when several processes get the same key at once', async () => {
  const processes = Array.from({ length: 4 }, () => open())
  const answers = await Promise.all(
    processes.flatMap((one) =>
      Array.from({ length: 5 }, () =>
        one.call(path, { method: 'POST', token, key: 'spread', body: { name: 'spread' } }),
      ),
    ),
  )
  expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
  expect(await effects('spread')).toBe(1)
})

it('treats a quoted key and a bare one as equal, and ignores the order of members', async () => {
  const first = await service.call(path, { method: 'POST', token, key: '"q"', body: '{"name":"quoted","note":null}' })
  const second = await service.call(path, { method: 'POST', token, key: 'q', body: '{"note":null, "name":"quoted"}' })
  expect(second.text).toBe(first.text)
  expect(await effects('quoted')).toBe(1)
})

it('refuses the key for another payload and for another URI', async () => {
  await post('reused', 'first')
  const payload = await post('reused', 'second')
  expect([payload.status, payload.json['code']]).toEqual([422, 'idempotency_key_mismatch'])
  expect(payload.json['detail']).toContain('different payload or URI')
  const uri = await post('reused', 'first', `/accounts/${accountId}/others`)
  expect([uri.status, uri.json['code']]).toEqual([422, 'idempotency_key_mismatch'])
  const query = await post('reused', 'first', `${path}?dry_run=true`)
  expect([query.status, query.json['code']]).toEqual([422, 'idempotency_key_mismatch'])
  expect((await post('reused', 'first')).status).toBe(201)
  expect(await effects('second')).toBe(0)
})

it('separates keys of two clients', async () => {
  const other = await service.signIn()
  const otherAccount = await service.createAccount(other.token)
  await post('shared', 'mine')
  const answer = await service.call(`/accounts/${otherAccount}/things`, {
    method: 'POST',
    token: other.token,
    key: 'shared',
    body: { name: 'theirs' },
  })
  expect(answer.status).toBe(201)
})

it('replays a deterministic refusal, and rolls its effect back', async () => {
  failures.set('refused', () => new OutlayError('invalid_account_number', 'No such account.', { field: 'destination' }))
  const first = await post('refusal', 'refused')
  expect([first.status, first.json['code']]).toEqual([422, 'invalid_account_number'])
  expect(first.headers.get('content-type')).toBe('application/problem+json')
  failures.delete('refused')
  const second = await post('refusal', 'refused')
  expect(second.text).toBe(first.text)
  expect(second.status).toBe(422)
  expect(second.headers.get('idempotent-replayed')).toBe('true')
  expect(await effects('refused')).toBe(0)
})

it.each([
  ['insufficient_balance', () => new OutlayError('insufficient_balance', 'Not enough.'), 422],
  ['a server error', () => new Error('boom'), 500],
  ['an outage', () => new OutlayError('service_unavailable', 'Later.', { retryAfterMs: 1_000 }), 503],
])('forgets %s, so that the same key works later', async (name, failure, status) => {
  failures.set(name, failure)
  expect((await post(`later ${name}`.replaceAll(' ', '-'), name)).status).toBe(status)
  failures.delete(name)
  const answer = await post(`later ${name}`.replaceAll(' ', '-'), name)
  expect(answer.status).toBe(201)
  expect(answer.headers.get('idempotent-replayed')).toBeNull()
  expect(await effects(name)).toBe(1)
})

it('retries automatically when two transactions conflict', async () => {
  let left = 2
  failures.set('deadlock', () => {
    left -= 1
    if (left === 0) failures.delete('deadlock')
    return Object.assign(new Error('deadlock detected'), { code: '40P01' })
  })
  expect((await post('deadlock', 'deadlock')).status).toBe(201)
  expect(await effects('deadlock')).toBe(1)
})

it('answers 409 with Retry-After when the other request lasts too long', async () => {
  const impatient = open({ idempotencyWaitMs: 50 })
  const answer = await whileHeld('held', () => things.post({ key: 'held', body: { name: 'held' } }, impatient))
  expect([answer.status, answer.json['code']]).toEqual([409, 'idempotency_key_in_flight'])
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(await effects('held')).toBe(0)
})

it('requires a key of visible ASCII', async () => {
  const missing = await service.call(path, { method: 'POST', token, body: { name: 'keyless' } })
  expect([missing.status, missing.json['code']]).toEqual([400, 'idempotency_key_missing'])
  for (const key of ['x'.repeat(256), 'two words']) {
    const answer = await post(key, 'keyless')
    expect([answer.status, answer.json['code']]).toEqual([400, 'idempotency_key_invalid'])
  }
  expect(await effects('keyless')).toBe(0)
})

it('ignores the header on other methods', async () => {
  expect((await service.call('/accounts', { token, key: 'x'.repeat(300) })).status).toBe(200)
})

it('limits size, depth and text of a body', async () => {
  const send = (body: string) => service.call(path, { method: 'POST', token, key: 'limits', body })
  expect((await send(`{"name":"${'x'.repeat(300_000)}"}`)).status).toBe(413)
  expect((await send(`${'['.repeat(50)}${']'.repeat(50)}`)).status).toBe(400)
  expect((await send('{"name"')).status).toBe(400)
  expect((await send('{"name":"a\\u0000b"}')).status).toBe(422)
  expect((await send('{"name":"\\ud800"}')).status).toBe(422)
  const form = await service.call(path, {
    method: 'POST',
    token,
    key: 'k',
    body: 'a=b',
    headers: { 'content-type': 'text/plain' },
  })
  expect(form.status).toBe(415)
})

it('answers a failure with only its request id, and logs it without values', async () => {
  failures.set('leak', () => Object.assign(new Error('secret 445566778899'), { code: '23514', detail: 'Failing row' }))
  const answer = await service.call(path, {
    method: 'POST',
    token,
    key: 'leak',
    body: { name: 'leak' },
    headers: { 'x-request-id': 'request-1234' },
  })
  expect(answer.status).toBe(500)
  expect(answer.text).not.toMatch(/secret|23514|Failing|\.ts/)
  expect(answer.json['request_id']).toBe('request-1234')
  expect(answer.headers.get('x-request-id')).toBe('request-1234')
  const entry = logger.entries.find(({ fields }) => fields['requestId'] === 'request-1234')
  expect(entry?.fields).toMatchObject({ code: '23514' })
  expect(JSON.stringify(logger.entries)).not.toContain('445566778899')
})
