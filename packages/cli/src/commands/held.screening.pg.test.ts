import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Screener } from '@outlay/core'
import { memoryGateway, silentLogger, waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'
import type { Finding } from '../doctor/finding.ts'

describe('what is screened', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  const codesOf = async () =>
    ((await json('doctor')) as { findings: readonly Finding[] }).findings.filter(({ code }) => /screen/.test(code))
  const sql = (text: string) => host.pool.query(text)
  afterEach(() =>
    sql(
      `set local session_replication_role = replica; truncate outlay.policy_state, outlay.hold, outlay.audit, outlay.screening, outlay.screening_answer`,
    ),
  )
  const pay = async () => {
    const policies = [{ name: 'sanctions', screen: 'the list' }]
    await host.commit((tx) => host.engine.policies.set(tx, policies, { actor: 'petra', reason: 'the law' }))
    return (await host.enqueue({ createdBy: 'carl' })).id
  }
  const screenWith = async (screen: Screener, isDone: () => Promise<boolean>) => {
    const backend = postgres<PoolClient>({ driver: pgDriver(host.pool), logger: silentLogger })
    const engine = createEngine({ backend, gateway: memoryGateway(), screen })
    await engine.start()
    await waitUntil(isDone).finally(() => engine.stop())
  }
  const asks = async (more: string) =>
    (await sql(`select from outlay.screening where asks > 0 and ${more}`)).rowCount === 1

  it('is shown with its case, and released by name', async () => {
    const id = await pay()
    expect((await run('transfers', 'show', id)).stdout).toContain('not asked about yet')
    await screenWith(
      () => ({ result: 'hold', case: 'c-7', note: 'a similar name' }),
      () => asks('on_hold'),
    )
    const shown = (await run('transfers', 'show', id)).stdout
    for (const text of ['waits for the answer about the case c-7', 'a similar name', 'sanctions'])
      expect(shown).toContain(text)
    expect(await json('transfers', 'list', '--stage', 'held')).toMatchObject([{ id, reason: 'screening' }])
    const released = await run(
      ...['transfers', 'release', id, '--hold', 'screening', '--policy', 'sanctions'],
      ...['--actor', 'olga', '--reason', 'another person'],
    )
    expect(released.stdout).toContain('→ queued/pending')
  })

  describe('and on hold', () => {
    const onHold = async () => {
      const id = await pay()
      await screenWith(
        () => ({ result: 'hold', case: 'c-7' }),
        () => asks('on_hold'),
      )
      return id
    }
    const answer = (id: string, ...args: string[]) =>
      run('transfers', 'answer-screening', id, ...args, '--reason', 'another person')

    it('passes by an answer about its case, of somebody who did not create it', async () => {
      const id = await onHold()
      const pass = (actor: string, ...more: string[]) => answer(id, '--result', 'pass', '--actor', actor, ...more)
      expect(await pass('olga')).toMatchObject({ code: 1, stderr: expect.stringContaining('on hold for the case c-7') })
      expect((await pass('Carl', '--case', 'c-7')).stderr).toContain('created the transfer')
      const passed = await pass('olga', '--case', 'c-7')
      expect([passed.code, passed.stdout]).toEqual([0, expect.stringContaining(`${id} is queued/pending.`)])
      expect((await run('transfers', 'show', id)).stdout).toMatch(/pass +c-7 +olga/)
      expect(await host.engine.audit.list({ transferId: id })).toMatchObject([
        { command: 'transfers.answer_screening', actor: 'olga', reason: 'another person' },
      ])
    })

    it('ends by a refusal, and what comes later says that it changed nothing, and which transfer came after it', async () => {
      const id = await onHold()
      const by = ['--actor', 'olga']
      expect((await answer(id, '--result', 'maybe', ...by)).stderr).toContain('one of pass, hold, refuse')
      const held = await answer(id, '--result', 'hold', '--case', 'c-8', ...by)
      expect([held.code, held.stdout]).toEqual([0, expect.stringContaining('is held/pending (screening)')])
      const refused = await answer(id, '--result', 'refuse', ...by)
      expect([refused.code, refused.stdout]).toEqual([
        0,
        expect.stringContaining('settled/canceled (screening_refused)'),
      ])
      const again = await run('transfers', 'resubmit', id, ...by, '--json')
      const late = await answer(id, '--result', 'pass', '--case', 'c-8', ...by)
      expect([late.code, late.stdout]).toEqual([1, expect.stringContaining('changed nothing')])
      expect(late.stdout).toContain(`resubmitted as ${JSON.parse(again.stdout).id}, which is screened by itself`)
    })
  })

  it('is a finding of the doctor where nobody screens, and where the screener gives no answer', async () => {
    const id = await pay()
    expect(await codesOf()).toEqual([])
    await sql(`update outlay.screening set due_at = now() - interval '6 minutes'`)
    expect(await codesOf()).toMatchObject([
      { code: 'screening_unattended', severity: 'warning', what: expect.stringContaining(id) },
    ])
    await sql(`update outlay.screening set due_at = now() - interval '31 minutes'`)
    expect(await codesOf()).toMatchObject([{ code: 'screening_unattended', severity: 'serious' }])
    await screenWith(
      () => {
        throw new Error('HTTP 503 of the provider')
      },
      () => asks('failures > 0'),
    )
    expect(await codesOf()).toEqual([])
    await sql(`update outlay.screening set failing_since = now() - interval '2 minutes'`)
    expect(await codesOf()).toMatchObject([{ code: 'screening_failing', severity: 'warning' }])
    await sql(`update outlay.screening set failing_since = now() - interval '6 minutes'`)
    const [finding] = await codesOf()
    expect(finding).toMatchObject({ code: 'screening_failing', severity: 'serious' })
    for (const text of ['1 transfer', 'for 6m', id, 'HTTP 503 of the provider']) expect(finding?.what).toContain(text)
    expect((await run('transfers', 'show', id)).stdout).toContain('no answer in 1 call')
  })
})
