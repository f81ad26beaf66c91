import { waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { admin, consoleHost, type Json, send } from '../test/host.ts'

const reason = 'the payee called'
const body = { reason }

describe('control by the console', async () => {
  const host = await consoleHost()
  const { call, engine, enqueue, commit, pool } = host
  const by = (actor: string) => ({ actor, reason })

  it('ends a hold for screening for who may approve, and for nobody else', async () => {
    await commit((tx) => engine.policies.set(tx, [{ name: 'list', screen: 'sanctions' }], by('petra')))
    const { id } = await enqueue({ createdBy: 'carl' })
    const release = (approve: readonly string[]) =>
      call(`POST /transfers/${id}/release`, {
        as: { ...admin, permissions: { act: 'all', approve } },
        body: { ...body, hold: 'screening', policy: 'list' },
      })
    expect(await release(['globex'])).toMatchObject({ status: 403, json: { code: 'forbidden' } })
    expect((await engine.transfers.holds(id))?.holds).toMatchObject([{ name: 'screening' }])
    expect((await release(['acme'])).status).toBe(200)
  })

  it('says whose hold and whose stop there is, and ends no other one than was seen', async () => {
    const { id } = await enqueue()
    await commit((tx) => engine.transfers.hold(tx, id, by('bert')))
    const held = await call<{ held: { holds: { since: string }[] } }>(`POST /transfers/${id}/hold`, { body })
    expect(held.json).toMatchObject({ changed: false, held: { holds: [{ actor: 'bert' }] } })
    expect(await engine.audit.list({ actor: 'ada' })).toMatchObject([{ command: 'transfers.hold', reason }])
    const since = held.json.held.holds[0]?.since
    await commit((tx) => engine.transfers.release(tx, id, by('bert')))
    await commit((tx) => engine.transfers.hold(tx, id, by('olga')))
    const late = await call(`POST /transfers/${id}/release`, { body: { ...body, since } })
    expect(late).toMatchObject({ status: 409, json: { errors: [{ source: { pointer: '/since' } }] } })
    const targets: readonly (readonly [add: string, end: string, target: Json])[] = [
      ['/stops/add', '/stops/end', { scope: 'all' }],
      ['/accounts/acme/stop', '/accounts/acme/start', {}],
    ]
    for (const [add, end, target] of targets) {
      await call(`POST ${add}`, { as: { ...admin, actor: 'bert' }, body: { ...body, ...target } })
      const second = await call<{ stop: { since: string } }>(`POST ${add}`, { body: { ...body, ...target } })
      expect(second.json).toMatchObject({ changed: false, stop: { actor: 'bert', reason } })
      const seen = { ...body, ...target, since: second.json.stop.since }
      expect((await call(`POST ${end}`, { body: seen })).json).toMatchObject({ changed: true })
      await call(`POST ${add}`, { body: { ...body, ...target } })
      expect((await call(`POST ${end}`, { body: seen })).status).toBe(409)
    }
  })

  it('stops and pauses although the audit is locked, and says so in the log', async () => {
    const batch = await commit((tx) => engine.batches.create(tx, { accountId: 'acme' }))
    await enqueue({ batchId: batch.id })
    const auditor = await pool.connect()
    try {
      await auditor.query('begin')
      await auditor.query('lock table outlay.audit in access exclusive mode')
      const lines = [
        ['/stops/add', { scope: 'all' }],
        ['/accounts/acme/stop', {}],
        ['/accounts/acme/pause', {}],
        [`/batches/${batch.id}/pause`, {}],
      ] as const
      for (const [path, target] of lines) {
        const answer = await call(`POST ${path}`, { body: { ...body, ...target } })
        expect(answer, path).toMatchObject({ status: 200, json: { changed: true } })
      }
    } finally {
      await auditor.query('rollback')
      auditor.release()
    }
    expect((await engine.stops.list()).map(({ scope }) => scope)).toEqual(['all', 'account'])
    expect(await engine.accounts.get('acme')).toMatchObject({ paused: true })
    expect(host.logger.entries.filter(({ level }) => level === 'warn').map(({ fields }) => fields)).toMatchObject([
      { command: 'stops.add', actor: 'ada', reason },
      { command: 'stops.add' },
      { command: 'accounts.pause' },
      { command: 'batches.pause' },
    ])
  })

  it('stops at once while reads have all places at the database', async () => {
    const { id } = await enqueue()
    const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const driver: typeof host.driver = {
      ...host.driver,
      async execute(tx, statement, values) {
        if (statement.text.includes('transfer_creator')) {
          begun.resolve()
          await done.promise
        }
        return host.driver.execute(tx, statement, values)
      },
    }
    const url = await host.serve({ driver, concurrency: 1 })
    const read = send(url, `GET /transfers/${id}`)
    await begun.promise
    const stop = await send(url, 'POST /stops/add', { body: { ...body, scope: 'all' } })
    expect(stop).toMatchObject({ status: 200, json: { changed: true } })
    done.resolve()
    expect((await read).status).toBe(200)
  })

  it('says of an account that no transfer of it is known here', async () => {
    await enqueue()
    expect((await call('GET /accounts/acme')).json).toMatchObject({ known: true })
    expect((await call('GET /accounts/acmee')).json).toMatchObject({ known: false, stopped: null })
    expect((await call('POST /accounts/acmee/stop', { body })).json).toMatchObject({ changed: true, known: false })
    expect((await call('POST /accounts/acme/pause', { body })).json).toMatchObject({ changed: true, known: true })
  })

  it('resumes an account from the pause that was shown, and from no other one', async () => {
    await commit((tx) => engine.accounts.pause(tx, 'acme', by('bert')))
    const { pause } = (await call<{ pause: { since: string } }>('GET /accounts/acme')).json
    expect(pause).toMatchObject({ actor: 'bert' })
    await commit((tx) => engine.accounts.resume(tx, 'acme', by('bert')))
    await commit((tx) => engine.accounts.pause(tx, 'acme', by('olga')))
    const resume = (since: string) => call('POST /accounts/acme/resume', { body: { ...body, since } })
    expect(await resume(pause.since)).toMatchObject({ status: 409, json: { code: 'conflict' } })
    const { json } = await call<{ paused: boolean; pause: { since: string } }>('GET /accounts/acme')
    expect(json).toMatchObject({ paused: true, pause: { actor: 'olga' } })
    expect(await resume(json.pause.since)).toMatchObject({ status: 200, json: { changed: true } })
  })

  it('does with many what the dry run has shown, also where somebody is about to change one of them', async () => {
    const { id } = await enqueue()
    await commit((tx) => engine.transfers.hold(tx, id, by('bert')))
    const filter = { accountId: 'acme' }
    const release = (more: Json) =>
      call<{ count: number; digest: string }>('POST /bulk/transfers/release', { body: more })
    const { count, digest } = (await release({ filter, dryRun: true })).json
    const change = async (tx: pg.PoolClient) => {
      await engine.transfers.release(tx, id, by('bert'))
      await engine.transfers.hold(tx, id, by('olga'))
    }
    const other = await pool.connect()
    try {
      await other.query('begin')
      await change(other)
      const answer = release({ filter, expected: { count, digest }, reason })
      await waitUntil(async () => {
        const { rows } = await pool.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.length > 0 ? true : undefined
      })
      await other.query('commit')
      expect(await answer).toMatchObject({ status: 409, json: { code: 'conflict' } })
    } finally {
      other.release()
    }
    expect((await engine.transfers.holds(id))?.holds).toMatchObject([{ actor: 'olga' }])
  })

  it('writes down that nobody asked the service for the id of a blocked transfer', async () => {
    const ids = [await enqueue(), await enqueue()].map(({ id }) => id)
    await pool.query(`update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown', unknown_since = now()`)
    for (const [at, id] of ids.entries()) {
      const resolution = at === 0 ? { remoteId: `r-${at}`, unchecked: true } : { notPaid: true }
      expect((await call(`POST /transfers/${id}/resolve`, { body: { ...body, ...resolution } })).status).toBe(200)
    }
    const [other, first] = await engine.audit.list({ command: 'transfers.resolve' })
    expect(first?.after).toMatchObject({ remoteId: 'r-0', unchecked: true })
    expect(other?.after).not.toHaveProperty('unchecked')
  })

  it('tries policies with the texts that are not shown, and judges as an enqueue does', async () => {
    const payee = '01J0000000000000000000000B'
    const policies = [
      { name: 'note', when: { metadata: { iban: '9876543210987' } }, hold: 'see it' },
      { name: 'payouts', when: { flows: ['payout'] }, hold: 'may be one' } as const,
      { name: 'named', when: { counterparties: [payee] }, approvals: [{}] },
    ]
    await commit((tx) => engine.policies.set(tx, policies, by('petra')))
    await enqueue({ metadata: { iban: '9876543210987' }, createdBy: 'carl' })
    // To a wallet of the service, or to one outside: nobody here knows.
    const wallet = { addressId: '01J0000000000000000000000C', valueType: 'YSBC', transferType: 'base' }
    await enqueue({ destination: wallet, createdBy: 'carl' })
    const shown = await call<{ policies: { name: string }[]; version: number }>('GET /policies')
    expect(shown.text).toContain('[hidden]')
    const tried = await call<{ policies: { policy: string; count: number }[] }>('POST /policies/trial', {
      body: { policies: shown.json.policies, expectedVersion: shown.json.version },
    })
    expect(tried.json.policies.map(({ policy, count }) => [policy, count])).toEqual([
      ['named', 1],
      ['note', 1],
      ['payouts', 1],
    ])
  })
})
