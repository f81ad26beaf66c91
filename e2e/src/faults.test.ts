import { startFaultProxy } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testSite } from './site.ts'
import { openStageHost, seedClient, setStage, settleAll } from './stage.ts'

describe('a network that loses, delays and breaks', async () => {
  const { hosts, sandbox } = await testSite()

  it('costs time and nothing else: each payout is one transfer, one debit and one event', async () => {
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    await using proxy = await startFaultProxy({ target: sandbox.url })
    // A tenth of each backoff: nearly half of the requests fail, so some transfers need eight attempts and more.
    const host = openStageHost(stage, hosts.url, proxy.url, { jitter: 0.1, polling: { maxDelayMs: 300 } })
    const creates = { method: 'POST', path: /transfers$/ }
    const rules = [
      proxy.faults.add({ ...creates, probability: 0.1, fault: { kind: 'drop_request' } }),
      proxy.faults.add({ ...creates, probability: 0.1, fault: { kind: 'drop_response' } }),
      proxy.faults.add({ ...creates, probability: 0.1, fault: { kind: 'fail_after' } }),
      proxy.faults.add({ ...creates, probability: 0.1, fault: { kind: 'reset_body' } }),
      // Only a few: repeated 429s slow an account down, which other tests cover.
      proxy.faults.add({ ...creates, probability: 0.05, times: 3, fault: { kind: 'refuse', retryAfterSeconds: 1 } }),
      proxy.faults.add({ ...creates, probability: 0.1, fault: { kind: 'delay_response', ms: 200 } }),
      proxy.faults.add({ method: 'GET', probability: 0.2, fault: { kind: 'drop_response' } }),
      proxy.faults.add({ path: '/oauth2/token', nth: 1, fault: { kind: 'drop_response' } }),
    ]
    await host.engine.start()
    const count = 200
    await host.transaction((tx) =>
      host.engine.transfers.enqueueMany(
        tx,
        Array.from({ length: count }, () => stage.payout()),
      ),
    )
    const { host: stored, service, effects } = await settleAll(stage, host, 90_000)
    expect(rules.slice(0, 4).every((rule) => rule.applied > 0)).toBe(true)
    expect(service).toHaveLength(count)
    expect(new Set(service.map(({ status }) => status))).toEqual(new Set(['complete']))
    expect(stored.map(({ remoteId }) => remoteId).toSorted()).toEqual(service.map(({ id }) => id).toSorted())
    expect(effects.map(({ transfer_id }) => transfer_id)).toEqual(stored.map(({ id }) => id))
    const { rows } = await host.pool.query(
      `select count(*)::integer as count from outlay.attempt where outcome is null`,
    )
    expect(rows[0].count).toBe(0)
    expect(Number(await stage.balance())).toBe(1_000_000 - count * 12.5)
    await host.close()
    await stage.client.close()
  })
})
