import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('the commands of control', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  const petra = ['--actor', 'petra', '--reason', 'decided']
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outlay-policies-'))
  })
  afterEach(() =>
    // Without triggers: the audit refuses to be emptied. Both are one transaction.
    host.pool.query(
      `set local session_replication_role = replica; truncate outlay.policy_state, outlay.hold, outlay.approval, outlay.audit, outlay.audit_chain, outlay.audit_chain_end`,
    ),
  )
  afterAll(() => rm(folder, { recursive: true }))
  const write = async (policies: unknown) => {
    const file = join(folder, 'policies.json')
    await writeFile(file, typeof policies === 'string' ? policies : JSON.stringify(policies))
    return file
  }

  it('set policies from a file, list what they hold, approve it, and say who did what', async () => {
    const file = await write([{ name: 'all', approvals: [{ roles: ['finance'] }] }])
    expect(await run('policies', 'set', file, ...petra)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 policy set, as version 1'),
    })
    expect(await json('policies', 'show')).toMatchObject({ version: 1, actor: 'petra', policies: [{ name: 'all' }] })
    const { id } = await host.enqueue({ createdBy: 'carl' })
    expect(await json('transfers', 'list', '--stage', 'held')).toMatchObject([
      { id, stage: 'held', reason: 'approval' },
    ])
    expect((await json('status')).backlog).toMatchObject({ held: 1, queued: 0 })
    const shown = (await run('transfers', 'show', id)).stdout
    for (const text of ['approval', 'all', 'carl', 'finance']) expect(shown).toContain(text)
    expect((await run('transfers', 'list', '--stuck')).stdout).toContain('Nothing is stuck')

    const creator = await run('transfers', 'approve', id, '--actor', 'carl', '--role', 'finance')
    expect(creator).toMatchObject({ code: 1, stderr: expect.stringContaining('created the transfer') })
    const approved = await run('transfers', 'approve', id, '--actor', 'anna', '--role', 'finance', '--role', 'audit')
    expect(approved).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('held/pending (approval) → queued/pending'),
    })
    expect(await json('audit', '--transfer', id)).toMatchObject([{ command: 'transfers.approve', actor: 'anna' }])
    expect((await run('audit')).stdout).toContain('policies.set')
  })

  it('hold a transfer, release it, and reject another one', async () => {
    const [{ id }, { id: other }] = [await host.enqueue(), await host.enqueue()]
    const olga = ['--actor', 'olga', '--reason', 'odd']
    expect(await run('transfers', 'hold', id, other, ...olga)).toMatchObject({ code: 0 })
    expect((await run('transfers', 'release', id)).code).toBe(2)
    expect(await run('transfers', 'release', id, ...olga)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('held/pending (operator) → queued/pending'),
    })
    expect(await run('transfers', 'reject', other, ...olga)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('settled/canceled (rejected)'),
    })
    expect((await run('transfers', 'hold', id)).code).toBe(2)
  })

  it('say whose hold there is where somebody else holds a transfer, and end no other one than was read', async () => {
    const [{ id }, { id: other }] = [await host.enqueue(), await host.enqueue()]
    const by = (name: string) => ['--actor', name, '--reason', `${name} doubts it`]
    await run('transfers', 'hold', id, ...by('bert'))
    const { code, stdout } = await run('transfers', 'hold', id, other, ...by('olga'))
    expect(code).toBe(0)
    expect(stdout).toContain('1 transfer held, in one transaction.')
    expect(stdout).toMatch(new RegExp(`${id} was held before, by bert since 2.*\\(bert doubts it\\)`))
    const since = (await json('transfers', 'show', id)).held.holds[0].since
    const release = () => run('transfers', 'release', id, '--since', since, ...by('carl'))
    expect((await release()).code).toBe(0)
    await run('transfers', 'hold', id, ...by('olga'))
    expect(await release()).toMatchObject({ code: 1, stderr: expect.stringContaining('held by olga since') })
    await run('stop', '--all', ...by('bert'))
    expect((await run('stop', '--all', ...by('olga'))).stdout).toMatch(/Stopped already.*by bert \(bert doubts it\)/)
    const [stop] = await host.engine.stops.list()
    const start = () => run('start-sending', '--all', '--since', stop?.since ?? '', ...by('carl'))
    expect((await start()).stdout).toContain('is ended')
    await run('stop', '--all', ...by('olga'))
    expect(await start()).toMatchObject({ code: 1, stderr: expect.stringContaining('by olga') })
    expect((await run('start-sending', '--all', ...by('carl'))).code).toBe(0)
  })

  it('refuse a file that is none of policies, with the place of the mistake', async () => {
    expect(await run('policies', 'set', join(folder, 'none.json'), ...petra)).toMatchObject({ code: 2 })
    expect(await run('policies', 'set', await write('[{'), ...petra)).toMatchObject({ code: 2 })
    expect(await run('policies', 'set', await write([{ name: 'x', hold: 'y', whem: {} }]), ...petra)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('0.whem'),
    })
    expect(await host.pool.query('select from outlay.policy_state')).toMatchObject({ rowCount: 0 })
  })

  it('prepare a database for policies about earlier transfers, which are refused before', async () => {
    const file = await write([{ name: 'twice', when: { lookalike: {} }, hold: 'paid twice?' }])
    expect(await run('policies', 'set', file, ...petra)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('outlay policies prepare'),
    })
    expect(await json('policies', 'prepare')).toMatchObject({ made: { length: 3 } })
    expect((await run('policies', 'prepare')).stdout).toContain('nothing to do')
    expect(await run('policies', 'set', file, ...petra)).toMatchObject({ code: 0 })
    const findings = async () => (await json('doctor'))['findings']
    const unprepared = expect.objectContaining({ code: 'policies_unprepared', what: expect.stringContaining('twice') })
    expect(await findings()).not.toContainEqual(unprepared)
    await host.pool.query('drop index outlay.transfer_payment')
    expect(await findings()).toContainEqual(unprepared)
    await run('policies', 'prepare')
    expect(await findings()).not.toContainEqual(unprepared)
    const empty = await write([])
    expect(await run('policies', 'set', empty, '--clear', ...petra)).toMatchObject({ code: 0 })
  })

  it('take each transfer for a transfer, wherever the roles are', async () => {
    const file = await write([{ name: 'all', approvals: [{ roles: ['finance'] }] }])
    await run('policies', 'set', file, ...petra)
    const ids: string[] = []
    for (let n = 0; n < 3; n += 1) ids.push((await host.enqueue({ createdBy: 'carl' })).id)
    const [first = '', ...others] = ids
    const anna = ['--actor', 'anna', '--role', 'finance']
    expect(await run('transfers', 'approve', first, ...anna, ...others)).toMatchObject({ code: 0 })
    for (const id of ids)
      expect(await json('audit', '--transfer', id)).toMatchObject([{ actor: 'anna', after: { roles: ['finance'] } }])
    const twice = await run('transfers', 'approve', first, ...anna, '--actor', 'bert')
    expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining('is given twice') })
  })

  it('refuse a version that is none, and a file with a member twice', async () => {
    const file = await write([{ name: 'all', approvals: [{}] }])
    const before = await json('policies', 'show')
    for (const version of ['', 'x', '1e3', '-1'])
      expect(await run('policies', 'set', file, ...petra, '--expected-version', version)).toMatchObject({ code: 2 })
    for (const twice of [
      '[{"name":"x","when":{"accounts":["a"]},"when":{"accounts":["b"]},"hold":"why: \\"y\\""}]',
      '[{"name":"x","hold":"y","n\\u0061me":"z"}]',
    ])
      expect(await run('policies', 'set', await write(twice), ...petra)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('has a member twice'),
      })
    expect(await json('policies', 'show')).toEqual(before)
    const colons = await write('[{"name":"a:b","hold":"why: \\"y\\": z","when":{"accounts":["a:b"]}}]')
    expect((await run('policies', 'set', colons, ...petra)).stderr).not.toContain('twice')
  })

  it("set policies by the host's catalog, from its module", async () => {
    const file = await write([{ name: 'eurc', when: { currencies: ['EURC'] }, hold: 'who is it' }])
    expect(await run('policies', 'set', file, ...petra)).toMatchObject({ code: 2 })
    const core = fileURLToPath(new URL('../../../core/dist/index.js', import.meta.url))
    const module = join(folder, 'gateway.mjs')
    await writeFile(
      module,
      `import { createCatalog } from ${JSON.stringify(core)}
       export const catalog = createCatalog({ valueTypes: [{ name: 'EURC', kind: 'token', scale: 6, peg: 'EUR' }] })
       export default { submit: async () => {}, get: async () => {} }`,
    )
    const set = await run('policies', 'set', file, ...petra, '--gateway-module', module)
    expect([set.code, set.stderr]).toEqual([0, ''])
  })

  it('compare the audit with its chain and with an anchor, and write all of it down', async () => {
    expect(await run('audit', 'verify')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Nothing is written'),
    })
    const file = await write([{ name: 'all', refuse: 'a "quoted", word' }])
    for (let at = 0; at < 2; at += 1) await run('policies', 'set', file, ...petra)
    const { anchor, ...whole } = await json('audit', 'verify')
    expect(whole).toEqual({ intact: true, entries: 2, problems: [] })
    expect(await run('audit', 'verify', '--anchor', anchor)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`2 entries compared with the chain, and with 1 anchor: nothing was changed`),
    })
    let before = ''
    const { stdout } = await run('audit', 'export')
    for (const line of stdout.trimEnd().split('\n')) {
      const [, hash, entry = ''] = /^\{"position":\d+,"hash":"(\w+)","entry":(.*)\}$/.exec(line) ?? []
      expect(createHash('sha256').update(`${before}\n${entry}`).digest('hex')).toBe(hash)
      expect(JSON.parse(line).entry).toMatchObject({ command: 'policies.set', actor: 'petra', reason: 'decided' })
      before = hash ?? ''
    }
    expect(anchor).toBe(`2:${before}`)
    const csv = (await run('audit', 'export', '--csv', '--after', '1')).stdout.trimEnd().split('\r\n')
    expect(csv).toHaveLength(2)
    expect(csv[0]).toMatch(/^position,at,who,what,transfer,why,before,after,login,id,hash$/)
    expect(csv[1]).toMatch(new RegExp(`^2,[^,]+,petra,policies.set,,decided,.*,${before}$`))
    await host.pool.query(
      `set local session_replication_role = replica; update outlay.audit set actor = 'somebody' where reason = 'decided'`,
    )
    const edited = await run('audit', 'verify')
    expect(edited).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/The entry at 1, with the id \d+ is not what/),
    })
    const wrong = await run('audit', 'verify', '--anchor', '2')
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('anchors.0') })
  })
})
