import { type Gateway, OutlayError } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { listingGateway } from '../../test/restored-database.ts'

const { rows, commit, open, enqueue } = await testHost()

describe('a reconciliation of several gateways', () => {
  const since = () => new Date(Date.now() - 3_600_000)
  const nobody = () => Promise.reject(new OutlayError('not_found', 'No such account.'))

  async function fenced(gateways: Readonly<Record<string, Gateway>>) {
    const engine = open({ gateways, route: () => 'default' })
    await enqueue(engine)
    await commit((tx) => engine.fence(tx))
    return engine
  }

  it('leaves the fence up for a gateway without lists, until a person acknowledges it', async () => {
    const engine = await fenced({ default: listingGateway(), second: memoryGateway() })
    const { differences, lifted } = await engine.reconcile({ since: since() })
    expect(differences).toMatchObject([
      {
        kind: 'unreadable',
        accountId: 'acme',
        gateway: 'second',
        open: true,
        evidence: expect.stringContaining('no lists'),
      },
    ])
    expect(lifted).toBe(false)
    expect(await engine.reconcile({ since: since(), acknowledge: true })).toMatchObject({ lifted: true })
  })

  it.each([
    ['workers had', async () => void (await rows(`insert into outlay.attended_gateway (name) values ('second')`))],
    [
      'a transfer waits for',
      async () => void (await rows(`update outlay.transfer set gateway = 'second' where account_id <> 'acme'`)),
    ],
  ])('leaves the fence up for a gateway that this engine lacks and that %s', async (_, use) => {
    const engine = await fenced({ default: listingGateway() })
    await enqueue(engine, { accountId: 'other' })
    await use()
    const { differences, lifted } = await engine.reconcile({ since: since() })
    expect(differences).toContainEqual(
      expect.objectContaining({ kind: 'unreadable', accountId: 'acme', gateway: 'second', open: true }),
    )
    expect(lifted).toBe(false)
  })

  it.each(['unauthenticated', 'service_unavailable'] as const)(
    'takes %s for no proof that nothing is there',
    async (code) => {
      const refused = () => Promise.reject(new OutlayError(code, 'Not now.'))
      const engine = await fenced({ default: listingGateway(), second: listingGateway({ list: refused }) })
      expect((await engine.reconcile({ since: since() })).lifted).toBe(false)
    },
  )

  it('takes not_found for nobody, where the account has no transfers at that gateway', async () => {
    const engine = await fenced({ default: listingGateway(), second: listingGateway({ list: nobody }) })
    const at = { since: since(), dryRun: true }
    expect((await engine.reconcile({ ...at, accounts: ['lost'] })).differences).toEqual([])
    expect(await engine.reconcile({ since: since() })).toMatchObject({ differences: [], lifted: true })
  })

  it('does not believe in an account that a person named and that no gateway knows', async () => {
    const engine = await fenced({
      default: listingGateway({ list: (id) => (id === 'lots' ? nobody() : Promise.resolve({ observations: [] })) }),
      second: listingGateway({ list: nobody }),
    })
    const { differences, lifted } = await engine.reconcile({ since: since(), accounts: ['lots'] })
    expect(differences).toMatchObject([{ kind: 'unreadable', accountId: 'lots', open: true }])
    expect(lifted).toBe(false)
  })
})
