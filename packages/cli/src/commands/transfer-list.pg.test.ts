import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('outlay transfers list', async () => {
  const host = await testHost()
  const run = (...args: readonly string[]) =>
    outlay(['transfers', 'list', ...args], { DATABASE_URL: host.database.url })
  const pesos = {
    amount: { value: '100', currency: 'MXN' },
    destination: { addressId: '01J0000000000000000000000B', valueType: 'MXN', transferType: 'spei' },
  }
  async function enqueueSome() {
    const one = await host.enqueue({ idempotencyKey: 'INV-1' })
    const two = await host.enqueue({
      idempotencyKey: 'INV-2',
      accountId: 'beta',
      amount: { value: '7.5', currency: 'USD' },
    })
    const three = await host.enqueue({ idempotencyKey: '=INV,3', ...pesos })
    const cancel = host.commit((tx) => host.engine.transfers.cancel(tx, three.id))
    await cancel
    await host.pool.query(`update outlay.transfer set created_at = now() - interval '2 days' where id = $1`, [one.id])
    return { one, two, three }
  }

  it('shows the key and the amount of each', async () => {
    await enqueueSome()
    const { stdout } = await run()
    expect(stdout).toMatch(/ID +ACCOUNT +KEY +AMOUNT/)
    expect(stdout).toMatch(/beta +INV-2 +7\.5 USD/)
  })

  it.each([
    [['--key', 'INV-1'], ['one']],
    [['--account', 'beta'], ['two']],
    [['--amount', '12.5'], ['one']],
    [['--amount', '007.50'], ['two']],
    [['--currency', 'mxn'], ['three']],
    [
      ['--payee', '01j0000000000000000000000b'],
      ['three', 'two', 'one'],
    ],
    [['--payee', 'nobody'], []],
    [['--currency', 'USD', '--amount', '100'], []],
    [
      ['--since', '1d'],
      ['three', 'two'],
    ],
    [['--until', '1d'], ['one']],
    [['--since', '3d', '--until', '1d', '--account', 'acme'], ['one']],
    [['--until', '2000-01-01T00:00:00-05:00'], []],
  ] as const)('with %j lists what matches, and its totals the same', async (filter, wanted) => {
    const all = await enqueueSome()
    const ids = wanted.map((name) => all[name].id)
    const listed = JSON.parse((await run(...filter, '--json')).stdout) as readonly { readonly id: string }[]
    expect(listed.map(({ id }) => id)).toEqual(ids)
    const totals = JSON.parse((await run(...filter, '--totals', '--json')).stdout) as readonly {
      readonly count: number
    }[]
    expect(totals.reduce((sum, { count }) => sum + count, 0)).toBe(ids.length)
  })

  it('lists the transfers of a batch, and refuses a batch that there is not', async () => {
    await enqueueSome()
    const { id: batchId } = await host.commit((tx) => host.engine.batches.create(tx))
    const { id } = await host.enqueue({ batchId })
    expect(JSON.parse((await run('--batch', batchId, '--json')).stdout)).toMatchObject([{ id }])
    expect((await run('--batch', batchId, '--totals')).stdout).toContain('1 transfer.')
    expect((await run('--batch', batchId, '--csv')).stdout).toContain(batchId)
    const { stdout } = await outlay(['transfers', 'show', id], { DATABASE_URL: host.database.url })
    expect(stdout).toMatch(new RegExp(`batch +${batchId}`))
    const { code, stderr } = await run('--batch', '01J0000000000000000000000Z')
    expect([code, stderr]).toEqual([2, expect.stringContaining('There is no batch')])
    expect((await run('--batch', batchId, '--stuck')).stderr).toContain('--stuck goes with')
  })

  it('refuses a currency that no transfer is in and no catalog has, and a gateway that no worker had', async () => {
    const { one } = await enqueueSome()
    for (const more of [[], ['--totals'], ['--csv'], ['--account', 'acme']]) {
      const { code, stdout, stderr } = await run('--currency', 'EURO', ...more)
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(
        /No transfer here is in "EURO"\.\n→ Write one of USD, MXN, USDC, .* the catalog of the host adds/,
      )
    }
    const { code, stderr } = await run('--gateway', 'crads')
    expect([code, stderr]).toEqual([2, expect.stringContaining('a gateway "crads".\n→ Write one of default')])
    // Of a catalog of the host it is known by the transfers.
    await host.pool.query(
      `update outlay.transfer set request = jsonb_set(request, '{amount,currency}', '"EURO"') where id = $1`,
      [one.id],
    )
    expect((await run('--currency', 'euro')).stdout).toContain(one.id)
    expect((await run('--currency', 'EURO', '--account', 'beta')).stdout).toBe('No transfer.\n')
    expect((await run('--currency', 'PYUSD')).stdout).toBe('No transfer.\n')
  })

  it('sums up all that match by currency and status, whatever the limit', async () => {
    await enqueueSome()
    const { stdout } = await run('--totals', '--limit', '1')
    expect(stdout).toMatch(/MXN +canceled +1 +100\n/)
    expect(stdout).toMatch(/USD +pending +2 +20\.00\n/)
    expect(stdout).toContain('3 transfers.')
  })

  it('writes CSV with all columns, in which no text of others is a formula', async () => {
    const { one, three } = await enqueueSome()
    const lines = (await run('--csv')).stdout.trimEnd().split('\r\n')
    expect(lines[0]).toMatch(/^id,account,key,amount,currency,from,to,stage,status,reason,/)
    expect(lines).toHaveLength(4)
    expect(lines[1]).toContain(`${three.id},acme,"'=INV,3",100,MXN,USDC base,MXN spei,settled,canceled,`)
    expect(lines[3]).toContain(`${one.id},acme,INV-1,12.50,USD,`)
    expect((await run('--csv', '--limit', '1')).stdout.split('\r\n')).toHaveLength(2)
    expect((await run('--totals', '--csv')).stdout).toContain('USD,pending,2,20.00')
  })

  it.each([
    [['--since', '2026-12-01'], 'with its zone'],
    [['--until', '2026-12-01T09:00:00'], 'with its zone'],
    [['--amount', '1,250'], '1250.00'],
    [['--csv', '--json'], 'one of the two'],
    [['--stuck', '--csv'], '--stuck goes with'],
    [['--stuck', '--key', 'k'], '--stuck goes with'],
    [['--totals', '--before', '01J0000000000000000000000A'], 'Leave out --before'],
  ] as const)('refuses %j with what to write', async (args, sentence) => {
    const refused = await run(...args)
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toContain(sentence)
  })

  it('does not cut off what a stuck transfer waits for, nor what to do', async () => {
    await host.enqueue()
    await host.pool.query(`update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown'`)
    const { stdout } = await run('--stuck')
    expect(stdout).toMatch(/acme +blocked +outcome_unknown/)
    expect(stdout).toContain(
      '  waits for a person: its outcome stayed unknown for 24 hours, and money may have moved\n',
    )
    expect(stdout).toMatch(
      / {2}→ Ask the service about its key\..*say what it answered with "outlay transfers resolve"\./,
    )
    expect(stdout).not.toContain('…')
  })
})
