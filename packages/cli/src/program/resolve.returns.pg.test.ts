import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('outlay transfers resolve-return', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })
  const resolve = (...args: string[]) => run('transfers', 'resolve-return', ...args)

  /** A complete transfer of which the service says that too much came back, and, in a second report, an unknown amount. */
  async function hold(): Promise<string> {
    const { id } = await host.enqueue()
    await host.pool.query(`select * from outlay.fetch_and_claim(10, 'gone', '', null)`)
    await host.pool.query(
      `update outlay.transfer set stage = 'settled', status = 'complete', remote_id = $1 where id = $1`,
      [id],
    )
    await host.pool.query('select outlay.record_returns($1)', [
      JSON.stringify([
        {
          id,
          returns: [
            { identity: 'a', code: 'R10', amount: '1000000', currency: 'USD', occurred_at: null },
            { identity: 'b', code: 'R01', amount: null, currency: null, occurred_at: null },
          ],
        },
      ]),
    ])
    return id
  }

  it('decides about one, after the list and the doctor have named it', async () => {
    const id = await hold()
    expect((await run('transfers', 'list', '--stuck')).stdout).toContain('outlay transfers resolve-return')
    const doctor = await run('doctor')
    expect(doctor.stdout).toContain('SERIOUS  return_held')
    expect(doctor.stdout).toContain(id)
    const shown = (await run('transfers', 'show', id)).stdout
    expect(shown).toContain('held (exceeds_transfer)')
    expect(shown).toContain('held (amount_unknown)')
    const unnamed = await resolve(id, '--dismiss')
    expect(unnamed).toMatchObject({ code: 2, stdout: '' })
    expect(unnamed.stderr).toContain('--return')
    const dismissed = await resolve(id, '--return', 'a', '--dismiss', '--reason', 'ticket 4711', '--actor', 'ann')
    expect(dismissed).toMatchObject({ code: 0 })
    expect(dismissed.stdout).toContain('1 return dismissed; no handler gets it.')
    expect(dismissed.stdout).toContain('dismissed (exceeds_transfer)')
    const given = await resolve(id, '--return', 'b', '--amount', '1.5', '--json')
    expect(JSON.parse(given.stdout)).toMatchObject({
      id,
      returns: [
        { identity: 'a', sequence: null, resolvedBy: 'ann', resolutionNote: 'ticket 4711' },
        { identity: 'b', amount: '1.5', currency: 'USD', problem: null },
      ],
    })
    expect((await run('doctor')).stdout).not.toContain('return_held')
    expect((await resolve(id, '--return', 'b', '--dismiss')).stderr).toContain('No such return')
  })

  it.each([[[]], [['--amount', '1', '--dismiss']]])('takes one decision: %j', async (options) => {
    const refused = await resolve('01J0000000000000000000000Z', '--return', 'a', ...options)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('Give either --amount <value> or --dismiss.')
  })
})
