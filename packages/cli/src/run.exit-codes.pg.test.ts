import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../test/outbox.ts'

const nobody = '01J0000000000000000000000Z'

describe('the exit code', async () => {
  const host = await testHost()
  const run = async (...args: string[]) => (await outlay(args, { DATABASE_URL: host.database.url })).code

  it.each([
    [['stop']],
    [['stop', '--all', '--account', 'x']],
    [['stop', '--gateway', 'acme']],
    [['stop', '--account', 'a b']],
    [['start-sending']],
    [['start-sending', '--gateway', 'acme']],
    [['transfers', 'resolve', nobody]],
    [['transfers', 'resolve', nobody, '--remote-id', 'x']],
    [['transfers', 'resolve', nobody, '--not-paid', '--unchecked']],
    [['transfers', 'resolve', 'nonsense', '--not-paid']],
    [['transfers', 'resolve', nobody, '--remote-id', 'x', '--gateway-module', 'none.mjs']],
    [['transfers', 'show']],
    [['transfers', 'show', 'nonsense']],
    [['transfers', 'show', nobody, '--key', 'k']],
    [['prove', '--account', 'acme']],
    [['transfers', 'cancel', 'nonsense']],
    [['transfers', 'release', nobody.toLowerCase(), 'nonsense']],
    [['transfers', 'resubmit', 'nonsense']],
    [['transfers', 'list', '--stuck', '--stage', 'queued']],
    [['transfers', 'list', '--before', 'nonsense']],
    [['transfers', 'list', '--account', 'a b']],
    [['transfers', 'list', '--stuck', '--account', 'a b']],
    [['events', 'tail', '--once', '--account', 'a b']],
    [['transfers', 'show', '--account', 'a b', '--key', 'k']],
    [['accounts', 'pause', 'a b']],
    [['accounts', 'resume', 'a b']],
    [['accounts', 'limit', 'a b']],
    [['accounts', 'limit', 'acme', '--rate', '0']],
    [['accounts', 'limit', 'acme', '--concurrency', '1.5']],
    [['accounts', 'funds-arrived', 'a b']],
    [['accounts', 'retry-credentials', 'a b']],
    [['events', 'tail', '--once', '--transfer', 'nonsense']],
    [['events', 'replay', 'books', '--transfer', 'nonsense']],
    [['doctor', '--schema', 'Bad Name']],
    [['migrate', '--print', '--queue-schema', 'Bad Name']],
    [['doctor', '--database-url', 'nonsense']],
    [['roles', '--print', '--worker', 'Bad Name']],
    [['roles', '--worker', 'one', '--reader', 'one']],
    [['reconcile', '--since', '1h', '--gateway-module', 'none.mjs']],
  ])('is 2 for what is typed wrong: outlay %j', async (args) => {
    expect(await run(...args)).toBe(2)
  })

  it('is 2 without a database that can be reached', async () => {
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/nowhere' }
    for (const args of [
      ['stop'],
      ['transfers', 'resolve', nobody],
      ['transfers', 'show'],
      ['stop', '--gateway', 'a b'],
    ]) {
      expect((await outlay(args, env)).code).toBe(2)
    }
    expect((await outlay(['doctor'])).code).toBe(2)
  })

  it.each([
    [['transfers', 'show', nobody]],
    [['transfers', 'cancel', nobody]],
    [['transfers', 'resubmit', nobody]],
    [['events', 'dead', 'nobody']],
    [['subscriptions', 'remove', 'nobody']],
    [['doctor', '--database-url', 'postgres://127.0.0.1:1/nowhere']],
  ])('is 1 for what the database does not have, or a server that does not answer: outlay %j', async (args) => {
    expect(await run(...args)).toBe(1)
  })

  it('is 1 for a transfer whose state does not allow it', async () => {
    const { id } = await host.enqueue()
    expect(await run('transfers', 'resolve', id, '--not-paid')).toBe(1)
    expect(await run('transfers', 'resubmit', id)).toBe(1)
  })
})
