import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('the commands of limits on sums', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  const petra = ['--actor', 'petra', '--reason', 'decided']
  const daily = { name: 'daily', most: { USD: '10000' }, span: 'day', zone: 'UTC', per: ['account'] }
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outlay-limits-'))
  })
  afterAll(() => rm(folder, { recursive: true }))
  const write = async (limits: unknown) => {
    const file = join(folder, 'limits.json')
    await writeFile(file, typeof limits === 'string' ? limits : JSON.stringify(limits))
    return file
  }
  /** Claims all that is ready, as a worker does. */
  const claim = () =>
    host.pool.query(
      `select outlay.claim_for_gateways(array[outlay.transfer_of_job(f.job)], array[f.job], array[f.retry_count], 'worker', null, array['default'])
       from outlay.fetch_for_gateways(10, 'worker', null, null, array['default']) f`,
    )

  it('set limits from a file, show what is used and held, and the doctor names what waits for a person', async () => {
    expect((await run('limits', 'show')).stdout).toContain('No limits were ever set.')
    expect(await run('limits', 'set', await write([daily]), ...petra)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 limit set, as version 1'),
    })
    const pay = (value: string) => host.enqueue({ amount: { value, currency: 'USD' } })
    await pay('9000')
    const { id } = await pay('2000')
    await pay('10001')
    await claim()
    expect(await json('limits', 'show')).toMatchObject({
      ...{ version: 1, actor: 'petra', limits: [daily] },
      uses: [{ limit: 'daily', used: '9000', most: '10000', remaining: '1000', held: 2, tooLarge: 1 }],
    })
    expect((await run('limits', 'show')).stdout).toContain('9000 of 10000 USD')
    expect((await run('transfers', 'show', id)).stdout).toContain('The limit daily is 10000 USD a day')
    expect(await json('transfers', 'list', '--stage', 'held')).toHaveLength(2)
    const { findings } = await json('doctor')
    expect(findings).toContainEqual(
      expect.objectContaining({ code: 'limit_reached', what: expect.stringMatching(/^2 transfers held by limits/) }),
    )
    expect(findings).toContainEqual(
      expect.objectContaining({ code: 'limit_too_small', what: expect.stringMatching(/^1 transfer more than/) }),
    )
    const named = ['--hold', 'limit', '--policy', 'daily', '--actor', 'olga', '--reason', 'urgent']
    expect(await run('transfers', 'release', id, ...named)).toMatchObject({ code: 0 })
    expect((await run('audit')).stdout).toContain('limits.set')
  })

  it('refuse a file that is none of limits, another version, and one that there is not', async () => {
    expect(await run('limits', 'set', join(folder, 'none.json'), ...petra)).toMatchObject({ code: 2 })
    expect(await run('limits', 'set', await write('[{'), ...petra)).toMatchObject({ code: 2 })
    expect(await run('limits', 'set', await write([{ ...daily, mst: {} }]), ...petra)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('0.mst'),
    })
    expect(await run('limits', 'set', await write([daily]), ...petra, '--expected-version', '7')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not 7'),
    })
    expect(await run('limits', 'show', '--limits-version', '9')).toMatchObject({ code: 2 })
    for (const version of ['', 'x', '1e3', '-1'])
      expect(await run('limits', 'set', await write([daily]), ...petra, '--expected-version', version)).toMatchObject({
        code: 2,
      })
    const twice = `[{"name":"daily","most":{"USD":"1","USD":"2"},"span":"day","zone":"UTC"}]`
    expect(await run('limits', 'set', await write(twice), ...petra)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has a member twice'),
    })
  })

  it('end all limits by --clear alone, which is for an empty list only', async () => {
    const { version } = await json('limits', 'show')
    const refused = await run('limits', 'set', await write([]), ...petra)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('clear')])
    expect(await run('limits', 'set', await write([daily]), ...petra, '--clear')).toMatchObject({ code: 2 })
    expect(await json('limits', 'show')).toMatchObject({ version })
    expect(await run('limits', 'set', await write([]), ...petra, '--clear')).toMatchObject({ code: 0 })
    expect(await json('limits', 'show')).toMatchObject({ version: version + 1, limits: [] })
  })

  it("set limits by the host's catalog, from its module", async () => {
    const file = await write([{ ...daily, most: { EURC: '5' } }])
    expect(await run('limits', 'set', file, ...petra)).toMatchObject({ code: 2 })
    const core = fileURLToPath(new URL('../../../core/dist/index.js', import.meta.url))
    const module = join(folder, 'gateway.mjs')
    await writeFile(
      module,
      `import { createCatalog } from ${JSON.stringify(core)}
       export const catalog = createCatalog({ valueTypes: [{ name: 'EURC', kind: 'token', scale: 6, peg: 'EUR' }] })
       export default { submit: async () => {}, get: async () => {} }`,
    )
    const set = await run('limits', 'set', file, ...petra, '--gateway-module', module)
    expect([set.code, set.stderr]).toEqual([0, ''])
    expect(await json('limits', 'show')).toMatchObject({ limits: [{ most: { EURC: '5' } }] })
  })
})
