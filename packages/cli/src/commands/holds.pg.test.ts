import { afterEach, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

/** Each hold of the account acme: the command that sets it, and the one that ends it. */
const holds = {
  pause: [['accounts', 'pause', 'acme'], 'outlay accounts resume acme'],
  stop: [['stop', '--account', 'acme'], 'outlay start-sending --account acme'],
  stopOfGateway: [['stop', '--gateway', 'default'], 'outlay start-sending --gateway default'],
  stopOfAll: [['stop', '--all'], 'outlay start-sending --all'],
  fence: [['fence'], 'outlay reconcile --since <time>'],
} as const

describe('what still holds an account', async () => {
  const host = await testHost()
  const { database } = host
  afterEach(async () => {
    await host.pool.query(
      'truncate outlay.stop, outlay.known_database, outlay.unauthorized_account, outlay.account_throttle',
    )
  })
  const run = (...args: readonly string[]) => outlay(args, { DATABASE_URL: database.url })

  const commands = [
    { acts: ['accounts', 'resume', 'acme'], ends: 'pause', lies: 'due now' },
    { acts: ['start-sending', '--account', 'acme'], ends: 'stop', lies: 'To be sent' },
    { acts: ['start-sending', '--all'], ends: 'stopOfAll', lies: 'Nothing else' },
    { acts: ['accounts', 'pause', 'acme'], ends: 'pause', lies: 'To be sent' },
    { acts: ['stop', '--account', 'acme'], ends: 'stop', lies: 'To be sent' },
    { acts: ['accounts', 'funds-arrived', 'acme'], ends: undefined, lies: 'is sent' },
  ] as const
  it.each(commands)('is named by outlay $acts, each with the command that ends it', async ({ acts, ends, lies }) => {
    await host.enqueue()
    await host.pool.query(`update outlay.transfer set stage = 'awaiting_funds', reason = 'insufficient_balance'`)
    for (const [set] of Object.values(holds)) expect((await run(...set)).code).toBe(0)
    await host.pool.query(`insert into outlay.unauthorized_account (account_id, probe_at) values ('acme', now())`)
    const { stdout } = await run(...acts)
    const named = Object.values(holds).filter(([, end]) => stdout.includes(`"${end}" ends it`))
    expect(named).toEqual(Object.entries(holds).flatMap(([kind, hold]) => (kind === ends ? [] : [hold])))
    expect(stdout).toContain('"outlay accounts retry-credentials acme" ends it')
    expect(stdout).not.toContain(lies)
  })

  it.each([
    ['release', `stage = 'blocked', reason = 'outcome_unknown'`],
    ['resubmit', `stage = 'settled', status = 'failed'`],
  ])('is named by outlay transfers %s, each with the command that ends it', async (command, state) => {
    const { id } = await host.enqueue()
    await host.pool.query(`update outlay.transfer set ${state}`)
    for (const [set] of Object.values(holds)) expect((await run(...set)).code).toBe(0)
    const { stdout } = await run('transfers', command, id)
    for (const [, end] of Object.values(holds)) expect(stdout.split(`"${end}" ends it`)).toHaveLength(2)
  })

  it('is named once for all transfers that are released together, and for each in JSON', async () => {
    const ids: string[] = []
    for (const accountId of ['acme', 'acme', 'beta']) ids.push((await host.enqueue({ accountId })).id)
    await run('stop', '--all')
    await run('accounts', 'pause', 'beta')
    const release = async (...options: string[]) => {
      await host.pool.query(`update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown'`)
      return (await run('transfers', 'release', ...ids, ...options)).stdout
    }
    const text = await release()
    expect(text.split('"outlay start-sending --all" ends it')).toHaveLength(2)
    expect(text.split('"outlay accounts resume beta" ends it')).toHaveLength(2)
    const kinds = JSON.parse(await release('--json')).map((one: { holds: { kind: string }[] }) =>
      one.holds.map(({ kind }) => kind),
    )
    expect(kinds).toEqual([['stop'], ['stop'], ['stop', 'pause']])
  })

  it('is nothing of another account', async () => {
    await host.enqueue()
    await run('accounts', 'pause', 'beta')
    await run('stop', '--account', 'beta')
    await run('accounts', 'pause', 'acme')
    const { stdout } = await run('accounts', 'resume', 'acme')
    expect(stdout).toContain('acme is resumed; its transfers are due now.\n')
    expect(stdout).not.toContain('beta')
    // Whoever ends the stop of everything has to know of both.
    expect((await run('start-sending', '--all')).stdout).toMatch(/stop of the account beta.*pause of beta/)
    expect(JSON.parse((await run('start-sending', '--all', '--json')).stdout).holds).toMatchObject([
      { kind: 'stop', ofAll: false, command: 'outlay start-sending --account beta' },
      { kind: 'pause', ofAll: false, command: 'outlay accounts resume beta' },
    ])
  })
})
