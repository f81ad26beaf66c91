import { describe, expect, it } from 'vitest'
import { consoleHost, type Json } from '../test/host.ts'
import { type Authorization, type Permissions, permissionNames } from './authorization/authorization.ts'
import { routes } from './routes.ts'
import type { Route } from './routing/route.ts'

const reason = 'a test of permissions'
const filter = { currency: 'USD' }

/** What is sent to each route. One that is missing here fails the test, so that none is added whose permission nobody has tried. */
const bodies: Readonly<Record<string, Json | undefined>> = {
  showPerson: undefined,
  showBacklog: undefined,
  runDoctor: undefined,
  showSending: undefined,
  addStop: { reason, scope: 'all' },
  endStop: { reason, scope: 'all' },
  listTransfers: undefined,
  findTransfer: undefined,
  findTransfersByRemoteId: undefined,
  findTransfersByKey: undefined,
  totalTransfers: undefined,
  listStuckTransfers: undefined,
  showTransfer: undefined,
  proveTransfer: undefined,
  holdTransfer: { reason },
  releaseTransfer: { reason },
  cancelTransfer: { reason },
  approveTransfer: {},
  rejectTransfer: { reason },
  resolveTransfer: { reason, notPaid: true },
  resolveReturn: { reason, identity: 'r', dismissed: true },
  resubmitTransfer: { reason },
  answerScreening: { reason, result: 'refuse' },
  holdTransfers: { filter, dryRun: true },
  releaseTransfers: { filter, dryRun: true },
  cancelTransfers: { filter, dryRun: true },
  approveTransfers: { filter, dryRun: true },
  rejectTransfers: { filter, dryRun: true },
  listAccounts: undefined,
  showAccount: undefined,
  pauseAccount: { reason },
  resumeAccount: { reason },
  fundsArrivedAccount: { reason },
  retryCredentialsAccount: { reason },
  stopAccount: { reason },
  startAccount: { reason },
  configureAccount: { reason, weight: 2 },
  listBatches: undefined,
  showBatch: undefined,
  reviewBatch: undefined,
  closeBatch: { reason },
  pauseBatch: { reason },
  resumeBatch: { reason },
  cancelBatch: { reason },
  approveBatch: { digest: '0'.repeat(64) },
  showPolicies: undefined,
  setPolicies: { reason, expectedVersion: 0, policies: [], clear: true },
  listAudit: undefined,
  exportAudit: undefined,
  listSubscriptions: undefined,
  listDeadLetters: undefined,
  replayDeadLetters: { reason },
  removeSubscription: { reason },
  showStats: undefined,
  listGateways: undefined,
  exportTransfers: undefined,
  listApprovals: undefined,
  tryPolicies: { policies: [] },
  showPolicyChoices: undefined,
  checkPolicies: { policies: [] },
  showLimits: undefined,
  showLimitUses: undefined,
  setLimits: { reason, expectedVersion: 0, limits: [], clear: true },
  showLimitChoices: undefined,
  checkLimits: { limits: [] },
}

const queries: Readonly<Record<string, string>> = {
  findTransfer: '?accountId=acme&idempotencyKey=known',
  findTransfersByRemoteId: '?remoteId=r',
  findTransfersByKey: '?idempotencyKey=known',
}

/** Routes whose permission is that of whoever asks. */
const ofAnybody = ['showPerson']

describe('every route', async () => {
  const host = await consoleHost()
  const { call, engine, commit } = host

  const person = (permissions: Permissions): Authorization => ({ actor: 'ada', roles: [], permissions })
  const prepare = async () => {
    const batch = await commit((tx) => engine.batches.create(tx, { accountId: 'acme' }))
    const transfer = await host.enqueue({ batchId: batch.id, idempotencyKey: 'known' })
    await host.pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.enqueued}')`)
    return { batch, transfer }
  }
  type Prepared = Awaited<ReturnType<typeof prepare>>
  const lineOf = ({ method, path, id }: Route, { batch, transfer }: Prepared) => {
    const filled = path
      .replace(':transferId', transfer.id)
      .replace(':batchId', batch.id)
      .replace(':accountId', 'acme')
      .replace(':subscription', 'books')
    return `${method.toUpperCase()} ${filled}${queries[id] ?? ''}`
  }

  it('is tried here', () => {
    expect(Object.keys(bodies)).toEqual(routes.map(({ id }) => id))
    const idsOf = (permission: string) => routes.filter((one) => one.permission === permission).map(({ id }) => id)
    expect(idsOf('read')).toEqual(routes.filter(({ method }) => method === 'get').map(({ id }) => id))
    expect(idsOf('approve')).toEqual([
      ...[
        'approveTransfer',
        'rejectTransfer',
        'answerScreening',
        'approveTransfers',
        'rejectTransfers',
        'approveBatch',
      ],
    ])
    expect(idsOf('configure')).toEqual([
      ...[
        'configureAccount',
        'setPolicies',
        'removeSubscription',
        'tryPolicies',
        'checkPolicies',
        'setLimits',
        'checkLimits',
      ],
    ])
    expect(routes.filter(({ about }) => about === 'anybody').map(({ id }) => id)).toEqual(ofAnybody)
  })

  it('is closed to nobody, to who lacks its permission, and to who has it elsewhere; nothing is changed', async () => {
    const prepared = await prepare()
    const before = await engine.transfers.get(prepared.transfer.id)
    for (const route of routes) {
      const { id, about, permission } = route
      const line = lineOf(route, prepared)
      const status = async (as: Authorization | null) => (await call(line, { as, body: bodies[id] })).status
      expect([id, await status(null)]).toEqual([id, 401])
      if (about === 'anybody') continue
      const isOfOne = about === 'account' || about === 'transfer' || about === 'batch'
      const others = permissionNames.filter((one) => one !== permission && one !== 'read')
      const lacking = person(permission === 'read' ? {} : { read: 'all', ...all(others) })
      expect([id, await status(lacking)]).toEqual([id, isOfOne && permission === 'read' ? 404 : 403])
      const elsewhere = await status(person({ read: ['other'], [permission]: ['other'] }))
      if (about !== 'accounts') expect([id, elsewhere]).toEqual([id, isOfOne ? 404 : 403])
    }
    expect(await engine.audit.list()).toEqual([])
    expect(await engine.transfers.get(prepared.transfer.id)).toEqual(before)
    expect(await engine.stops.list()).toEqual([])
    expect(await engine.policies.get()).toMatchObject({ version: 0 })
  })

  it('is open to who has its permission', async () => {
    const prepared = await prepare()
    for (const route of routes) {
      const { id, permission } = route
      const { status } = await call(lineOf(route, prepared), { as: person({ [permission]: 'all' }), body: bodies[id] })
      expect([id, [200, 409].includes(status) ? 'open' : status]).toEqual([id, 'open'])
    }
  })
})

const all = (names: readonly string[]): Permissions => Object.fromEntries(names.map((name) => [name, 'all']))
