import { addresses } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { claimReady } from '../../test/limit-claims.ts'
import { samplePayout } from '../../test/outbox.ts'
import { roleHost } from '../../test/role-host.ts'

describe('the roles, where people approve and limit,', async () => {
  const { admin, as, commit, engineOf, forbid, nameOf } = await roleHost()

  it('let the one that enqueues have transfers held, and nobody write the audit by hand', async () => {
    const [web, operator] = [engineOf('enqueue'), engineOf('worker')]
    const note = { actor: 'petra', reason: 'decided' }
    const policies = [
      { name: 'all', approvals: [{}] },
      { name: 'payee', when: { counterparties: ['payee-1'] }, refuse: 'not that one' },
    ]
    await commit('worker', (tx) => operator.policies.set(tx, policies, note))
    // What is given in full is compared with what the engine has registered, which the role does not read.
    const address = { name: 'Grace', address: addresses.evm[1], transferTypes: ['base'] }
    const destination = { address, valueType: 'USDC', transferType: 'base' }
    const payGrace = samplePayout('acme', { amount: { value: '1', currency: 'USDC' }, destination })
    await expect(commit('enqueue', (tx) => web.transfers.enqueue(tx, payGrace))).rejects.toMatchObject({
      code: 'policy_refused',
    })
    await forbid('enqueue', 'select from outlay.counterparty')
    const request = () => samplePayout('acme', { createdBy: 'carl', metadata: { order: '7' } })
    const { id } = await commit('enqueue', (tx) => web.transfers.enqueue(tx, request()))
    const many = await commit('enqueue', (tx) => web.transfers.enqueueMany(tx, [request(), request()]))
    expect(many.map(({ stage }) => stage)).toEqual(['held', 'held'])
    expect(await web.transfers.get(id)).toMatchObject({ stage: 'held', createdBy: 'carl' })
    expect(await web.transfers.holds(id)).toMatchObject({ createdBy: 'carl', earlierCreators: [] })
    await commit('worker', (tx) => operator.transfers.approve(tx, id, { actor: 'anna' }))
    expect(await operator.audit.list({ transferId: id })).toMatchObject([
      { command: 'transfers.approve', actor: 'anna', login: `login-${nameOf('worker')}` },
    ])
    expect(await engineOf('reader').audit.list({ transferId: id })).toHaveLength(1)
    const byHand = `insert into outlay.audit (command, login) values ('transfers.approve', 'somebody')`
    for (const text of [
      byHand,
      `update outlay.audit set actor = 'x'`,
      'delete from outlay.audit',
      'truncate outlay.audit',
    ])
      for (const part of ['worker', 'enqueue', 'reader'] as const) await forbid(part, text)
    for (const part of ['enqueue', 'reader'] as const)
      await forbid(part, `select outlay.record_audit('x', 'x', 'x', null, null, null)`)
    const approval = `insert into outlay.approval (transfer_id, actor, roles) values ('${id}', 'x', '{}')`
    for (const text of [
      `update outlay.policy_version set actor = 'x'`,
      `insert into outlay.policy_version (version, tag, policies, actor, reason) values (9, 'x', '[]', 'x', 'x')`,
      'delete from outlay.policy_state',
      approval,
      `update outlay.approval set actor = 'x'`,
      'delete from outlay.approval',
    ])
      for (const part of ['worker', 'enqueue', 'reader'] as const) await forbid(part, text)
    for (const text of [
      `update outlay.transfer_creator set created_by = 'x'`,
      'delete from outlay.transfer_creator',
      `update outlay.hold set requirement = null`,
    ])
      for (const part of ['worker', 'enqueue', 'reader'] as const) await forbid(part, text)
    expect((await admin.query('select distinct login from outlay.approval')).rows).toEqual([
      { login: `login-${nameOf('worker')}` },
    ])
    // An operator of the caller's would run with the rights of the owner.
    const borrowing = await as('reader').query(
      `select proname from pg_proc where pronamespace = 'outlay'::regnamespace and prosecdef
       and not coalesce('search_path=pg_catalog, pg_temp' = any (proconfig), false)`,
    )
    expect(borrowing.rows).toEqual([])
    for (const part of ['enqueue', 'reader'] as const) {
      await forbid(part, `select outlay.set_policies(9, '[]', 'x', 'x')`)
      await forbid(part, `select outlay.add_approval('${id}', 'x', '{}', null)`)
    }
    await forbid('enqueue', `delete from outlay.hold`)
    await commit('worker', (tx) => operator.policies.set(tx, [], { ...note, clear: true }))
    for (const one of many) await commit('worker', (tx) => operator.transfers.cancel(tx, one.id, note))
  })

  it.each(['enqueue', 'reader'] as const)('let %s write no audit by trying to', async (part) => {
    const trying = `select outlay.try_audit('x', 'x', 'x', null, null, null) as is_written`
    expect((await as(part).query(trying)).rows).toEqual([{ is_written: false }])
    expect(await engineOf('worker').audit.list({ command: 'x' })).toEqual([])
  })

  it('let nobody set policies without an audit entry, or of a version behind which there is none', async () => {
    const operator = engineOf('worker')
    const { version } = (await operator.policies.get()) ?? { version: 0 }
    const byHand = (given: number) =>
      as('worker').query(`select outlay.set_policies($1, '[]', 'petra', 'by hand')`, [given])
    for (const given of [version, version + 2, 2_147_483_647])
      await expect(byHand(given)).rejects.toThrow(
        `The policies are of version ${version}, so the next one is ${version + 1}`,
      )
    await byHand(version + 1)
    const set = await commit('worker', (tx) =>
      operator.policies.set(tx, [], { actor: 'petra', reason: 'again', clear: true }),
    )
    expect(set).toEqual({ version: version + 2 })
    const login = `login-${nameOf('worker')}`
    expect(await operator.audit.list({ command: 'policies.set', limit: 2 })).toMatchObject([
      { actor: 'petra', reason: 'again', login, after: { version: version + 2 } },
      { actor: 'petra', reason: 'by hand', login, before: { version }, after: { version: version + 1, policies: [] } },
    ])
  })

  it('let the one that works count and hold by limits on sums, and nobody rewrite what they were', async () => {
    const [web, operator] = [engineOf('enqueue'), engineOf('worker')]
    const note = { actor: 'petra', reason: 'decided' }
    const limit = { name: 'tight', most: { USD: '1' }, span: 'day', zone: 'UTC', accounts: ['limited'] } as const
    await commit('worker', (tx) => operator.limits.set(tx, [limit], note))
    const { id } = await commit('enqueue', (tx) => web.transfers.enqueue(tx, samplePayout('limited')))
    await claimReady(as('worker'))
    expect(await operator.transfers.get(id)).toMatchObject({ stage: 'held', reason: 'limit' })
    expect(await engineOf('reader').limits.uses()).toMatchObject([{ limit: 'tight', held: 1 }])
    await commit('worker', (tx) => operator.transfers.release(tx, id, { ...note, hold: 'limit', policy: 'tight' }))
    expect(await claimReady(as('worker'))).toContain(id)
    for (const text of [
      `update outlay.limit_version set actor = 'x'`,
      `insert into outlay.limit_version (version, limits, actor, reason) values (9, '[]', 'x', 'x')`,
      'update outlay.sum_limit set most = 1000000',
      'delete from outlay.sum_limit',
    ])
      for (const part of ['worker', 'enqueue', 'reader'] as const) await forbid(part, text)
    for (const part of ['enqueue', 'reader'] as const)
      await forbid(part, `select outlay.set_limits(9, '[]', '[]', 'x', 'x')`)
    for (const part of ['enqueue', 'reader'] as const) await forbid(part, 'update outlay.limit_use set used = 0')
    await commit('worker', (tx) => operator.limits.set(tx, [], { ...note, clear: true }))
  })

  it('let nobody set limits without an audit entry, or of a version behind which there is none', async () => {
    const operator = engineOf('worker')
    const { version } = (await operator.limits.get()) ?? { version: 0 }
    const byHand = (given: number) =>
      as('worker').query(`select outlay.set_limits($1, '[]', '[]', 'petra', 'by hand')`, [given])
    for (const given of [version, version + 2, 2_147_483_647])
      await expect(byHand(given)).rejects.toThrow(`The limits are of version ${version}, so the next one is`)
    await byHand(version + 1)
    const limit = { name: 'tight', most: { USD: '1' }, span: 'day', zone: 'UTC', accounts: ['limited'] } as const
    // A worker of an earlier release writes it down, too.
    await commit('worker', async (tx) => {
      await operator.limits.set(tx, [limit], { actor: 'petra', reason: 'again' })
      await tx.query(`select outlay.record_audit('limits.set', 'petra', 'again', null, null, $1)`, [
        JSON.stringify({ version: version + 2, limits: [limit] }),
      ])
    })
    const login = `login-${nameOf('worker')}`
    expect(await operator.audit.list({ command: 'limits.set', limit: 2 })).toMatchObject([
      {
        actor: 'petra',
        reason: 'again',
        login,
        before: { version: version + 1, limits: [] },
        after: { limits: [limit] },
      },
      { actor: 'petra', reason: 'by hand', login, before: { version }, after: { version: version + 1, limits: [] } },
    ])
    const unknown = { ...limit, zone: 'Mars/Olympus' }
    await expect(
      commit('worker', (tx) => operator.limits.set(tx, [unknown], { actor: 'petra', reason: 'x' })),
    ).rejects.toThrow()
    await commit('worker', (tx) => operator.limits.set(tx, [], { actor: 'petra', reason: 'x', clear: true }))
  })

  it('let nobody write a hold that asks for less than its policy', async () => {
    const [web, operator] = [engineOf('enqueue'), engineOf('worker')]
    const note = { actor: 'petra', reason: 'decided' }
    const policy = { name: 'large', approvals: [{ count: 2, roles: ['finance'] }], inOrder: true }
    const { version } = await commit('worker', (tx) => operator.policies.set(tx, [policy], note))
    const { id } = await commit('enqueue', (tx) =>
      web.transfers.enqueue(tx, samplePayout('acme', { createdBy: 'carl' })),
    )
    const [hold] = (await operator.transfers.holds(id))?.holds ?? []
    const replace = (requirement: unknown, named: string, of: number | null) =>
      commit('worker', async (tx) => {
        await tx.query('delete from outlay.hold where transfer_id = $1', [id])
        await tx.query(
          `insert into outlay.hold (transfer_id, name, policy, policy_version, why, requirement) values ($1, 'approval', $2, $3, 'x', $4)`,
          [id, named, of, JSON.stringify(requirement)],
        )
      })
    const weaker = { steps: [{ roles: ['finance'] }], inOrder: true }
    for (const [requirement, named, of] of [
      [weaker, 'large', version],
      [{ ...hold?.requirement, inOrder: false }, 'large', version],
      [hold?.requirement, 'other', version],
      [hold?.requirement, 'large', version + 1],
      [weaker, 'large', null],
    ] as const)
      await expect(replace(requirement, named, of)).rejects.toMatchObject({ code: '42501' })
    await replace(hold?.requirement, 'large', version)
    expect((await operator.transfers.holds(id))?.holds).toMatchObject([{ requirement: hold?.requirement }])
    await commit('worker', (tx) => operator.transfers.reject(tx, id, note))
    await commit('worker', (tx) => operator.policies.set(tx, [], { ...note, clear: true }))
  })

  it('let the one that migrates prepare policies about earlier transfers, and those that enqueue and work go by them', async () => {
    const [web, operator] = [engineOf('enqueue'), engineOf('worker')]
    const note = { actor: 'petra', reason: 'decided' }
    await expect(operator.policies.prepare()).rejects.toThrow(/must be owner|permission denied/)
    await engineOf('migrator').policies.prepare()
    const policies = [
      { name: 'new', when: { newCounterparty: 'account', accounts: ['fresh'] }, hold: 'a first one' },
      { name: 'alike', when: { lookalike: {}, accounts: ['twice'] }, approvals: [{}] },
    ] as const
    await commit('worker', (tx) => operator.policies.set(tx, policies, note))
    const address = { name: 'Grace', address: addresses.evm[1], transferTypes: ['base'] }
    const destination = { address, valueType: 'USDC', transferType: 'base' }
    const payGrace = (accountId: string) =>
      samplePayout(accountId, { amount: { value: '1', currency: 'USDC' }, destination, createdBy: 'carl' })
    const pay = (accountId: string) => commit('enqueue', (tx) => web.transfers.enqueue(tx, payGrace(accountId)))
    expect(await pay('fresh')).toMatchObject({ stage: 'held' })
    expect([await pay('twice'), await pay('twice')]).toMatchObject([{ stage: 'queued' }, { stage: 'held' }])
    const { id } = await commit('enqueue', (tx) => web.transfers.enqueue(tx, samplePayout('twice')))
    // As if the other one had been enqueued by a transaction that is open.
    await as(
      'migrator',
    ).query(`insert into outlay.transfer (id, account_id, idempotency_key, fingerprint, request, created_at)
      select 'other', account_id, 'other', '', request, created_at - interval '1 second' from outlay.transfer where id = '${id}'`)
    expect(await claimReady(as('worker'))).not.toContain(id)
    expect(await operator.transfers.get(id)).toMatchObject({ stage: 'held', reason: 'approval' })
    await forbid('reader', 'select content from outlay.moved_row')
    await forbid('reader', `select outlay.policy_facts('{a}', '{}', '{}', '{b}', null)`)
    for (const part of ['enqueue', 'reader'] as const) await forbid(part, 'delete from outlay.payment_watch')
    const watch = `insert into outlay.payment_watch (transfer_id, policy, policy_version, name, why, requirement, days, currencies)
      select '${id}', 'alike', max(version), 'approval', 'x', '{"steps": [{"roles": ["intern"]}], "inOrder": false}', 1, '{}' from outlay.policy_version`
    await forbid('enqueue', watch)
    await commit('worker', (tx) => operator.policies.set(tx, [], { ...note, clear: true }))
  })
})
