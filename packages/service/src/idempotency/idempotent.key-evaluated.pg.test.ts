import { OutlayError } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { testSchema } from '../../test/service.ts'
import { thingsService } from '../../test/things.ts'
import { beginAs } from '../database/tenant.ts'

const { pool, failures, service, open, post, whileHeld, clientId, accountId } = await thingsService()
const impatient = open({ idempotencyWaitMs: 50 })
const hurried = open({ rateLimit: { perSecond: 0.001, burst: 1 } })
const header = 'idempotency-key-evaluated'

const failing = async (error: unknown, call: { readonly key?: string } = {}) => {
  failures.set('one', () => error)
  try {
    return await post(call)
  } finally {
    failures.delete('one')
  }
}
const asSystem = async (text: string, values: readonly unknown[]) => {
  const client = await pool.connect()
  try {
    await client.query(beginAs('system'))
    await client.query(text, [...values])
    await client.query('commit')
  } finally {
    client.release()
  }
}

describe('an answer that was decided after the check of the idempotency key says so', () => {
  it('when it is the first success, and when it is its replay', async () => {
    const key = crypto.randomUUID()
    const first = await post({ key })
    expect([first.status, first.headers.get(header), first.headers.get('idempotent-replayed')]).toEqual([
      ...[201, 'true', null],
    ])
    const second = await post({ key })
    expect([second.status, second.headers.get(header), second.headers.get('idempotent-replayed')]).toEqual([
      ...[201, 'true', 'true'],
    ])
  })

  it.each([
    [422, 'invalid_account_number'],
    [404, 'not_found'],
  ] as const)('when it is a refusal that is kept, and its replay: %i', async (status, code) => {
    const key = crypto.randomUUID()
    for (const _ of [1, 2]) {
      const answer = await failing(new OutlayError(code, 'No.'), { key })
      expect([answer.status, answer.json['code'], answer.headers.get(header)]).toEqual([status, code, 'true'])
    }
  })

  it('when it is a lack of funds, which is not stored', async () => {
    const answer = await failing(new OutlayError('insufficient_balance', 'Not now.'))
    expect([answer.status, answer.headers.get(header)]).toEqual([422, 'true'])
  })

  it('when the key is another request’s', async () => {
    const key = crypto.randomUUID()
    await post({ key })
    const answer = await post({ key, body: { name: 'two' } })
    expect([answer.json['code'], answer.headers.get(header)]).toEqual(['idempotency_key_mismatch', 'true'])
  })
})

describe('an answer that was decided before the check of the idempotency key does not say so', () => {
  it.each([
    [422, 'account_not_ready'],
    [422, 'payee_not_ready'],
    [422, 'bank_login_required'],
    [409, 'conflict'],
  ] as const)(
    'a refusal that is not stored, so that a request in transit may still succeed: %i %s',
    async (status, code) => {
      const answer = await failing(new OutlayError(code, 'Not now.'))
      expect([answer.status, answer.json['code'], answer.headers.get(header)]).toEqual([status, code, null])
    },
  )

  it.each([
    ['401', { token: 'nobody' }, 401],
    ['an account of another client', { at: '/accounts/01J0000000000000000000000Z/things' }, 404],
    ['an invalid account', { at: '/accounts/none/things' }, 404],
    ['no key', { key: undefined }, 400],
    ['an invalid key', { key: 'two words' }, 400],
    ['no JSON', { body: '{' }, 400],
    ['text that is none', { body: '{"name":"\\u0000"}' }, 422],
    ['another type', { headers: { 'content-type': 'text/plain' } }, 415],
    ['an unknown path', { at: '/nothing' }, 404],
  ])('%s', async (_, call, status) => {
    const answer = await post(call)
    expect([answer.status, answer.headers.get(header)]).toEqual([status, null])
  })

  it('403', async () => {
    const reader = await service.signIn({ scopes: ['transfers:read'] })
    const answer = await post({ token: reader.token })
    expect([answer.status, answer.headers.get(header)]).toEqual([403, null])
  })

  it('429', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => post({}, hurried)))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    for (const answer of refused) expect(answer.headers.get(header)).toBeNull()
  })

  it.each([
    [500, new Error('boom')],
    [503, new OutlayError('service_unavailable', 'Later.')],
    [429, new OutlayError('rate_limited', 'Slower.')],
  ])('%i of the effect', async (status, error) => {
    const answer = await failing(error)
    expect([answer.status, answer.headers.get(header)]).toEqual([status, null])
  })

  it('409 while another request has the key', async () => {
    const key = crypto.randomUUID()
    const answer = await whileHeld(key, () => post({ key }, impatient))
    expect([answer.status, answer.json['code'], answer.headers.get(header)]).toEqual([
      ...[409, 'idempotency_key_in_flight', null],
    ])
  })
})

describe('a key is checked before the account', () => {
  it('so a client that lost the account gets a replay, and nothing new', async () => {
    const kept = [crypto.randomUUID(), crypto.randomUUID()] as const
    const first = await post({ key: kept[0] })
    const refused = await failing(new OutlayError('invalid_account_number', 'No.'), { key: kept[1] })
    const revoke = `delete from ${testSchema}.client_account where client_id = $1 and account_id = $2`
    await asSystem(revoke, [clientId, accountId])
    try {
      for (const [key, before] of [
        [kept[0], first],
        [kept[1], refused],
      ] as const) {
        const answer = await post({ key })
        expect([answer.status, answer.text]).toEqual([before.status, before.text])
        expect([answer.headers.get(header), answer.headers.get('idempotent-replayed')]).toEqual(['true', 'true'])
      }
      const other = await post({ key: kept[0], body: { name: 'two' } })
      expect([other.json['code'], other.headers.get(header)]).toEqual(['idempotency_key_mismatch', 'true'])
      for (const key of [crypto.randomUUID(), undefined]) {
        const fresh = await post({ key })
        expect([fresh.status, fresh.json['code'], fresh.headers.get(header)]).toEqual([404, 'not_found', null])
      }
      const { rows } = await pool.query(`select count(*)::integer as count from ${testSchema}.client_account`)
      expect(rows[0].count).toBe(0)
    } finally {
      const granted = `insert into ${testSchema}.client_account (client_id, account_id, created_at) values ($1, $2, now())`
      await asSystem(granted, [clientId, accountId])
    }
  })

  it('and another client’s key is not seen', async () => {
    const key = crypto.randomUUID()
    await post({ key })
    const other = await service.signIn()
    const answer = await post({ key, token: other.token })
    expect([answer.status, answer.headers.get(header)]).toEqual([404, null])
  })
})
