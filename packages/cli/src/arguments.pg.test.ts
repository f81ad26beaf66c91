import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../test/outbox.ts'

describe('the exit code', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })
  const id = '01J0000000000000000000000A'

  it.each([
    [['stop']],
    [['stop', '--all', '--account', 'acme']],
    [['stop', '--gateway', 'acme']],
    [['transfers', 'resolve', id]],
    [['transfers', 'resolve', id, '--remote-id', 'r-1']],
    [['transfers', 'show']],
    [['transfers', 'cancel', 'nonsense']],
    [['transfers', 'list', '--stuck', '--stage', 'queued']],
    [['transfers', 'resubmit', id, '--not-a-time', 'x']],
    [['accounts', 'pause', 'a b']],
    [['doctor', '--schema', 'Bad Name']],
    [['doctor', '--database-url', 'nonsense']],
  ])('is 2 for what is typed wrong: %j', async (args) => {
    const { code, stderr } = await run(...args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(/./)])
  })

  it.each([[['transfers', 'show', id]], [['transfers', 'cancel', id]], [['transfers', 'resubmit', id]]])(
    'is 1 where the arguments are right and the database refuses: %j',
    async (args) => {
      expect((await run(...args)).code).toBe(1)
    },
  )
})

describe('a transfer that is enqueued again', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })

  it('keeps its times unless others are typed, and the second call says what became of the first', async () => {
    const notBefore = new Date(Date.now() + 86_400_000)
    const { id } = await host.enqueue({ accountId: 'acme', notBefore })
    await run('transfers', 'cancel', id)
    const first = JSON.parse((await run('transfers', 'resubmit', id, '--json')).stdout)
    expect(new Date((await host.engine.transfers.get(first.id))?.notBefore ?? '')).toEqual(notBefore)
    await run('transfers', 'cancel', first.id)
    const second = await run('transfers', 'resubmit', id)
    expect(second.stdout).toContain(`as ${first.id}, which is canceled (settled); nothing was enqueued.`)
    expect(second.stdout).toContain(`outlay transfers resubmit ${first.id}`)
    const atOnce = await run('transfers', 'resubmit', first.id, '--not-before', 'now', '--json')
    expect(await host.engine.transfers.get(JSON.parse(atOnce.stdout).id)).toMatchObject({ notBefore: null })
    const mistyped = await run('transfers', 'resubmit', first.id, '--key', 'other', '--expires-at', 'tomorrow')
    expect([mistyped.code, mistyped.stderr]).toEqual([2, expect.stringContaining('expiresAt')])
  })
})
