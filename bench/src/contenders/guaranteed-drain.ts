import { Id } from '@outlay/core'
import type { PoolClient } from 'pg'
import type { Database } from '../database.ts'
import type { Drainer, DrainShape } from '../drainer.ts'
import { countJobs } from './queue.ts'
import { type DrainLoop, openRecordedDrain, type Submit } from './recorded-drain.ts'
import { type Begun, beginNextTransfers, beginTransfers, recordAccepted } from './transfer-records.ts'

/**
 * What a hand-written loop has besides its records; each has what those before it have, too. It has each by a function of Outlay, in the
 * place of a statement of its own:
 *
 * - `jobs`: each request has an active job of pg-boss, which is gone with its answer
 * - `order`: accounts take turns
 * - `claim`: what is paused, stopped, limited or refused is not sent; all requests for a transfer have one key
 * - `answer`: an answer counts once, for the attempt that it is the answer to, and no two transfers have one id at the service
 */
export type Guarantee = 'records' | 'jobs' | 'order' | 'claim' | 'answer'

const guarantees: readonly Guarantee[] = ['records', 'jobs', 'order', 'claim', 'answer']

/** Time until the service would be asked for the status of a submitted transfer, in milliseconds. */
const pollAfterMs = 1_800_000

const worker = `host:${process.pid}`

/** How a loop begins the attempts of its next transfers; nothing when none is left. */
type Begin = (client: PoolClient) => Promise<readonly Begun[]>

/** How a loop writes the answers. */
type Answer = (client: PoolClient, begun: readonly Begun[], remoteIds: readonly string[]) => Promise<void>

/** A hand-written loop with all guarantees up to one. */
export const openGuaranteedDrain = (
  serverUrl: string,
  upTo: Guarantee,
  { loops, batch }: DrainShape,
  databaseName = `bench_guaranteed_${upTo}`,
): Promise<Drainer> =>
  openRecordedDrain(
    serverUrl,
    { name: `${upTo}, ${loops}×${batch}`, database: databaseName, loops },
    async (database) => ({
      fill: async () => void (has(upTo, 'order') && (await fillOutbox(database))),
      makeLoop: () => makeLoop(upTo, batch),
      async prove() {
        const left = await countJobs(database)
        if (left > 0) throw new Error(`${left} transfers still wait or have a job.`)
      },
      close: async () => undefined,
    }),
  )

const has = (upTo: Guarantee, one: Guarantee): boolean => guarantees.indexOf(upTo) >= guarantees.indexOf(one)

const fillOutbox = (database: Database) =>
  database.admin.query(`insert into outlay.outbox (id, account_id, due_at, ready)
    select outlay.job_id(t.id), t.account_id, now(), true from outlay.transfer t`)

/** All loops of a turn share it, and each begins its own way through the transfers. */
function makeLoop(upTo: Guarantee, batch: number): DrainLoop {
  return async (client: PoolClient, submit: Submit) => {
    const begin = makeBegin(upTo, batch)
    const answer = makeAnswer(upTo)
    for (;;) {
      const begun = await begin(client)
      if (begun.length === 0) return
      await answer(client, begun, await submit(begun))
    }
  }
}

function makeBegin(upTo: Guarantee, batch: number): Begin {
  let turn: string | null = null
  if (has(upTo, 'claim')) {
    return async (client) => {
      const { rows } = await client.query<Begun & { readonly turn: string }>({
        name: 'fetch',
        text: `select id, attempt, idempotency_key as submission_key, request, turn
          from outlay.fetch_for_gateways($1, $2, null, $3, array['default'])`,
        values: [batch, worker, turn],
      })
      turn = rows[0]?.turn ?? turn
      if (rows.some(({ id }) => id === null)) throw new Error('A transfer was fetched and not claimed.')
      return rows
    }
  }
  if (has(upTo, 'order')) {
    return inTransaction(async (client) => {
      const { rows } = await client.query<{ jobs: readonly string[]; turn: string }>({
        name: 'fetch_jobs',
        text: `select jobs, turn from outlay.queue_fetch($1, $2, array['default'])`,
        values: [batch, turn],
      })
      turn = rows[0]?.turn ?? turn
      return beginTransfers(client, (rows[0]?.jobs ?? []).map(Id.fromUuid))
    })
  }
  let after = ''
  const beginNext: Begin = async (client) => {
    let begun = await beginNextTransfers(client, after, batch)
    if (begun.length === 0 && after !== '') begun = await beginNextTransfers(client, '', batch)
    after =
      begun
        .map(({ id }) => id)
        .toSorted()
        .at(-1) ?? ''
    return begun
  }
  if (!has(upTo, 'jobs')) return beginNext
  return inTransaction(async (client) => {
    const begun = await beginNext(client)
    await client.query({
      name: 'activate',
      text: 'select outlay.queue_activate($1::uuid[], $2::integer[])',
      values: [jobsOf(begun), begun.map(() => 0)],
    })
    return begun
  })
}

function makeAnswer(upTo: Guarantee): Answer {
  if (has(upTo, 'answer')) return settle
  if (!has(upTo, 'jobs')) return recordAccepted
  return (client, begun, remoteIds) =>
    inTransaction(async () => {
      await recordAccepted(client, begun, remoteIds)
      await client.query({ name: 'remove', text: 'select outlay.queue_remove($1::uuid[])', values: [jobsOf(begun)] })
    })(client)
}

const jobsOf = (begun: readonly Begun[]) => begun.map(({ id }) => Id.toUuid(id))

async function settle(client: PoolClient, begun: readonly Begun[], remoteIds: readonly string[]): Promise<void> {
  const settlements = begun.map(({ id, attempt }, index) => ({
    id,
    job: Id.toUuid(id),
    attempt,
    worker,
    stage: 'submitted',
    status: 'pending',
    remote_id: remoteIds[index],
    poll_after_ms: pollAfterMs,
    events: ['transfer.submitted'],
    outcome: 'accepted',
  }))
  const { rows } = await client.query<{ result: string }>({
    name: 'settle',
    text: 'select result from outlay.settle($1::jsonb, 2)',
    values: [JSON.stringify(settlements)],
  })
  if (rows.some(({ result }) => result !== 'settled')) throw new Error('An answer was not recorded.')
}

/** Runs a part of a loop in a transaction. */
const inTransaction =
  <T>(work: (client: PoolClient) => Promise<T>) =>
  async (client: PoolClient): Promise<T> => {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    return result
  }
