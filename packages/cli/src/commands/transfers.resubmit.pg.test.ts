import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { postgres } from '@outlay/adapters-pg'
import { createCatalog, createEngine } from '@outlay/core'
import { drain, memoryGateway } from '@outlay/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('outlay transfers resubmit', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(['transfers', 'resubmit', ...args], { DATABASE_URL: host.database.url })
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outlay-resubmit-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  /** Enqueues a transfer that fails, and gives its id. */
  async function fail(): Promise<string> {
    host.gateway.script(() => ({ outcome: 'rejected', code: 'closed', detail: 'closed' }))
    await host.engine.start()
    const { id } = await host.enqueue({ idempotencyKey: 'k' })
    await drain(host.engine)
    return id
  }
  const again = async () => {
    const found = await host.engine.transfers.getByKey('acme', 'k:resubmit')
    return found ?? expect.unreachable()
  }

  it('derives the new key from the key of the ended one', async () => {
    const id = await fail()
    await host.engine.stop()
    expect(await run(id)).toMatchObject({ code: 0, stdout: expect.stringContaining('the new key k:resubmit') })
    const { code, stdout } = await run(id)
    const { id: newId } = await again()
    expect([code, stdout]).toEqual([0, expect.stringContaining(`as ${newId}, which is pending (queued)`)])
    expect(stdout).toContain(`"outlay transfers show ${newId}"`)
  })

  it('corrects amount and address, once, and both transfers show the link', async () => {
    const id = await fail()
    await host.engine.stop()
    const corrected = ['--amount', '11.00', '--to', '01J0000000000000000000000C']
    expect(await run(id, ...corrected)).toMatchObject({ code: 0, stdout: expect.stringContaining('corrected request') })
    const { id: newId, request } = await again()
    expect(request).toMatchObject({
      amount: { value: '11.00' },
      destination: { addressId: '01J0000000000000000000000C' },
    })
    const show = (one: string) => outlay(['transfers', 'show', one], { DATABASE_URL: host.database.url })
    expect((await show(id)).stdout).toMatch(new RegExp(`resubmitted as +${newId}`))
    expect((await show(newId)).stdout).toMatch(new RegExp(`resubmits +${id}`))
    expect(await run(id)).toMatchObject({ code: 1, stderr: expect.stringContaining(newId) })
    expect(await run(id, '--amount', 'many')).toMatchObject({ code: 1, stderr: expect.stringContaining('amount') })
  })

  it('writes down who and why', async () => {
    const id = await fail()
    await host.engine.stop()
    expect(await run(id, '--actor', 'olga', '--reason', 'the payee called')).toMatchObject({ code: 0 })
    expect(await host.engine.audit.list({ transferId: id, command: 'transfers.resubmit' })).toMatchObject([
      { actor: 'olga', reason: 'the payee called' },
    ])
  })

  it('keeps the wire memo, but not for another payee', async () => {
    const wired = { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'wire', wireMemo: 'Ann' }
    const resubmitted = async (...corrected: string[]) => {
      const { id, idempotencyKey } = await host.enqueue({ destination: wired })
      await host.commit((tx) => host.engine.transfers.cancel(tx, id))
      expect(await run(id, ...corrected)).toMatchObject({ code: 0 })
      return (await host.engine.transfers.getByKey('acme', `${idempotencyKey}:resubmit`))?.request.destination
    }
    expect(await resubmitted('--amount', '11.00')).toMatchObject({ wireMemo: 'Ann' })
    const other = { addressId: '01J0000000000000000000000C', valueType: 'USD', transferType: 'wire' }
    expect(await resubmitted('--to', other.addressId)).toEqual(other)
  })

  it('warns where another transfer that may pay has the same request, and not where that has ended without a payment', async () => {
    const id = await fail()
    await host.engine.stop()
    const { id: other } = await host.enqueue({ idempotencyKey: 'by-hand' })
    const { id: over } = await host.enqueue({ idempotencyKey: 'over' })
    await host.commit((tx) => host.engine.transfers.cancel(tx, over))
    const { code, stdout } = await run(id)
    expect(code).toBe(0)
    expect(stdout).toContain('asks for the same within a day in 1 other transfer.')
    expect(stdout).toContain(`${other}, key by-hand: queued/pending`)
    expect(stdout).toContain(`"outlay transfers cancel ${(await again()).id}"`)
    expect(stdout).not.toContain(over)
    expect(JSON.parse((await run(id, '--json')).stdout).alike).toMatchObject([{ id: other, stage: 'queued' }])
    await host.commit((tx) => host.engine.transfers.cancel(tx, other))
    expect((await run(id)).stdout).not.toContain('Beware')
  })

  it('names the resubmission that has failed too, and what to do', async () => {
    const id = await fail()
    expect((await run(id)).code).toBe(0)
    await drain(host.engine)
    const { id: newId } = await again()
    const { code, stdout } = await run(id)
    expect([code, stdout]).toEqual([1, expect.stringContaining(`as ${newId}, which is failed (settled)`)])
    expect(stdout).toContain(`"outlay transfers resubmit ${newId}" enqueues it again`)
    expect(await run(newId)).toMatchObject({ code: 0, stdout: expect.stringContaining('k:resubmit:resubmit') })
  })

  it('names the resubmission that was canceled, blocked or complete', async () => {
    const id = await fail()
    await host.engine.stop()
    await run(id)
    const become = (text: string) =>
      host.pool.query(`update outlay.transfer set ${text} where idempotency_key = 'k:resubmit'`)
    for (const [state, expected, says] of [
      [`stage = 'blocked', reason = 'outcome_unknown'`, 0, 'outlay prove'],
      [`stage = 'settled', status = 'complete'`, 0, 'It has paid.'],
      [`stage = 'settled', status = 'canceled'`, 1, 'It is canceled too'],
    ] as const) {
      await become(state)
      const { code, stdout } = await run(id)
      expect([code, stdout]).toEqual([expected, expect.stringContaining(says)])
    }
    const { stdout } = await run(id, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ reused: true, stage: 'settled', status: 'canceled', resubmits: id })
  })

  it('takes the catalog of the host from its gateway module, and else says what to do', async () => {
    const rail = { name: 'sepa_x', family: 'bank', valueTypes: ['USD'], expectedMs: 1_000 }
    const catalog = createCatalog({ transferTypes: [rail as never] })
    const own = createEngine({ backend: postgres({ driver: host.driver }), gateway: memoryGateway(), catalog })
    const request = {
      accountId: 'acme',
      amount: { value: '12.50', currency: 'USD' },
      source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
      destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'sepa_x' },
    }
    const { id } = await host.commit((tx) => own.transfers.enqueue(tx, request))
    await host.commit((tx) => own.transfers.cancel(tx, id))
    const refused = await run(id)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is not in the catalog')])
    expect(refused.stderr).toContain('--gateway-module')
    expect(refused.stderr).toContain('from the code of the host')
    const core = fileURLToPath(new URL('../../../core/dist/index.js', import.meta.url))
    const module = join(folder, 'gateway.mjs')
    const gateway = `export default { submit: async () => { throw new Error('sends nothing') }, get: async () => undefined }`
    await writeFile(
      module,
      `import { createCatalog } from ${JSON.stringify(core)}
       ${gateway}
       export const catalog = createCatalog({ transferTypes: [${JSON.stringify(rail)}] })`,
    )
    const done = await run(id, '--gateway-module', module)
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('enqueued under the new key')])
    const broken = join(folder, 'broken.mjs')
    await writeFile(broken, `${gateway}\nexport const catalog = ['sepa_x']`)
    expect((await run(id, '--gateway-module', broken)).stderr).toContain('is no catalog')
  })
})
