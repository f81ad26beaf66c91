import type { SubmitResult } from '@outlay/core'
import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { jobTable } from '../../test/queue.ts'

describe('after a fail-over that lost an enqueue, the acceptance of its transfer', async () => {
  const { open, commit, outcomes, rows } = await testHost()

  /** A payout whose enqueue and claim are lost when `isLost` says so, and the service's answer to it comes. */
  async function loseEnqueue(submitMs: number, isLost: (id: string, calls: number) => Promise<boolean>) {
    const service = memoryGateway({ status: 'processing' })
    const logger = recordingLogger()
    const hanging = Promise.withResolvers<void>()
    let calls = 0
    const engine = open({
      gateway: {
        get: (...read) => service.get(...read),
        async submit(submission, sending): Promise<SubmitResult> {
          const accepted = await service.submit(submission, sending)
          calls += 1
          await hanging.promise
          return accepted
        },
      },
      timeouts: { submitMs },
      runtime: { logger },
    })
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await engine.start({ stopTimeoutMs: 0 })
    await waitUntil(() => isLost(id, calls))
    // The standby lacks the last commits.
    await rows(
      `delete from outlay.attempt; delete from outlay.event; delete from outlay.transfer; delete from ${jobTable}`,
    )
    hanging.resolve()
    return {
      id,
      entry: await waitUntil(() => logger.entries.find(({ message }) => message.startsWith('An acceptance came'))),
    }
  }

  it.each([
    ['in time', 60_000, async (_: string, calls: number) => calls === 1],
    [
      'after its call was abandoned',
      50,
      async (id: string) => (await outcomes(id)).some(({ outcome }) => outcome === 'unknown'),
    ],
  ])('that comes %s is logged as lost here, with its id at the service', async (_, submitMs, isLost) => {
    const { id, entry } = await loseEnqueue(submitMs, isLost)
    expect(entry).toMatchObject({
      level: 'error',
      fields: { transferId: id, remoteId: 'remote-1' },
      message: expect.stringContaining('has lost its transfer'),
    })
    expect(await rows('select 1 from outlay.attempt union all select 1 from outlay.transfer')).toEqual([])
  })
})
