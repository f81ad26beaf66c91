import { describe, expect, it } from 'vitest'
import { consoleHost } from '../../test/host.ts'

interface Check {
  readonly errors: readonly { readonly field: string; readonly detail: string }[]
}

describe('a check of policies that nobody has set', async () => {
  const { call, commit, engine, pool } = await consoleHost()
  const check = async (policies: unknown, expectedVersion = 0) =>
    (await call<Check>('POST /policies/check', { body: { policies, expectedVersion } })).json.errors
  const fieldsOf = async (policies: unknown, expectedVersion?: number) =>
    (await check(policies, expectedVersion)).map(({ field }) => field)

  it('says which conditions need indexes, until these are there, as a set refuses them', async () => {
    const policies = [
      { name: 'large', when: { amounts: { USD: { from: '1' } } }, hold: 'h' },
      { name: 'new', when: { newCounterparty: 'account', lookalike: { days: 7 } }, hold: 'h' },
      { name: 'twice', when: { lookalike: {} }, hold: 'h' },
    ]
    const fields = ['1.when.newCounterparty', '1.when.lookalike', '2.when.lookalike']
    const errors = await check(policies)
    expect(errors.map(({ field }) => field)).toEqual(fields.map((field) => `policies.${field}`))
    expect(errors[0]?.detail).toContain('run "outlay policies prepare"')
    const body = { policies, reason: 'r', expectedVersion: 0 }
    const refused = await call('PUT /policies', { body })
    expect(refused.json).toMatchObject({
      status: 422,
      errors: fields.map((field) => ({ source: { pointer: `/policies/${field.replaceAll('.', '/')}` } })),
    })
    // Beside what else is wrong.
    expect(await fieldsOf([{ name: 'A b', moon: 7, when: { lookalike: {} }, hold: 'h' }])).toEqual([
      ...['policies.0.moon', 'policies.0.name', 'policies.0.when.lookalike'],
    ])
    await engine.policies.prepare()
    expect(await check(policies)).toEqual([])
    expect((await call('PUT /policies', { body })).status).toBe(200)
    // They hold all that they are about where one is gone.
    await pool.query('drop index outlay.transfer_payment')
    const { json } = await call<{ readonly findings: readonly { readonly code: string }[] }>('GET /doctor')
    expect(json.findings.map(({ code }) => code)).toContain('policies_unprepared')
  })

  it('says of every text that is hidden and not known that it has to be written, beside what else is wrong', async () => {
    const stored = [{ name: 'no', refuse: 'call account 123456789012' }]
    await commit((tx) => engine.policies.set(tx, stored, { actor: 'o', reason: 'r' }))
    const draft = [
      { name: 'no', refuse: 'call account [hidden]' },
      { name: 'new', refuse: 'call account [hidden]', when: { rails: ['pigeon'] } },
      { name: 'other', hold: 'ask account [hidden]', moon: 'full' },
    ]
    const fields = ['1.refuse', '2.hold', '1.when.rails.0', '2.moon']
    expect(await fieldsOf(draft, 1)).toEqual(fields.map((field) => `policies.${field}`))
    const body = { policies: draft, reason: 'r', expectedVersion: 1 }
    expect((await call('PUT /policies', { body })).json).toMatchObject({ status: 422, errors: fields.map(() => ({})) })
    expect(await engine.policies.get()).toMatchObject({ version: 1, policies: stored })
  })
})
