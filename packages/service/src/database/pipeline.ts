import type { Pool, PoolClient, QueryResult } from 'pg'
import { sqlStateOf } from './conflict.ts'
import { connectWithin } from './connect.ts'
import { findPipelineQuery, type PipelineQuery, resultsOf } from './pipeline-query.ts'
import { type ExecutorQuery, sentValues } from './statement.ts'
import { beginWith, type TransactionSetting } from './transaction-settings.ts'

/** Sends exactly one statement on the transaction that it gets, and reads the result. */
export type PipelineWork<T = unknown> = (tx: PoolClient) => Promise<T>

/** Works with the types of what they resolve with. */
export type PipelineWorks<T extends readonly unknown[]> = { readonly [K in keyof T]: PipelineWork<T[K]> }

/**
 * Runs works as one transaction in one round trip: their statements, in order, commit together or not at all. Results are known only
 * after the commit, so a work cannot undo what another one wrote: a statement that must not commit has to fail.
 *
 * Resolves with what the works resolve with. A pool whose clients are not the JavaScript clients of node-postgres gets a round trip for each statement.
 *
 * @throws what a work throws before it sends its statement, and then nothing is sent; what the work of the first failed statement
 *   makes of its error; or the error of the commit.
 */
export async function runPipeline<T extends readonly unknown[]>(
  pool: Pool,
  settings: readonly TransactionSetting[],
  works: PipelineWorks<T>,
): Promise<T> {
  const recordings: Recording[] = []
  try {
    for (const work of works) recordings.push(await record(work))
  } catch (error) {
    for (const { answer } of recordings) answer.reject(error)
    throw error
  }
  const queries = recordings.map(({ query }) => query)
  const outcome = await sendPipeline(pool, settings, queries).catch((error: unknown) => {
    for (const { answer } of recordings) answer.reject(error)
    throw error
  })
  if ('error' in outcome) {
    const undone = new Error('Another statement of the transaction failed.', { cause: outcome.error })
    for (const [place, { answer }] of recordings.entries()) {
      answer.reject(place === outcome.place ? outcome.error : undone)
    }
    await recordings[outcome.place]?.end
    throw outcome.error
  }
  for (const [place, { answer }] of recordings.entries()) answer.resolve(outcome.results[place] as QueryResult)
  return (await Promise.all(recordings.map(({ end }) => end))) as unknown as T
}

/** Sends one statement as a transaction of its own. */
export async function sendAlone(
  pool: Pool,
  settings: readonly TransactionSetting[],
  query: ExecutorQuery,
): Promise<QueryResult> {
  const outcome = await sendPipeline(pool, settings, [query])
  if ('error' in outcome) throw outcome.error
  return outcome.results[0] as QueryResult
}

/** A work whose statement is known and not sent yet. */
interface Recording {
  readonly query: ExecutorQuery
  readonly answer: PromiseWithResolvers<QueryResult>
  readonly end: Promise<unknown>
}

/** Starts a work and waits for its statement. */
async function record(work: PipelineWork): Promise<Recording> {
  const sent = Promise.withResolvers<ExecutorQuery>()
  const answer = Promise.withResolvers<QueryResult>()
  let statements = 0
  const query = async (given: ExecutorQuery): Promise<QueryResult> => {
    statements += 1
    if (statements > 1) throw oneStatement()
    sent.resolve(given)
    return await answer.promise
  }
  // The engine takes it for a client that is in a transaction and sends without waiting for answers.
  const tx = { query, getTransactionStatus: () => 'T', pipeline: true } as unknown as PoolClient
  const end = work(tx)
  end.then(() => {
    if (statements === 0) sent.reject(oneStatement())
  }, sent.reject)
  return { query: await sent.promise, answer, end }
}

const oneStatement = () => new Error('A work of a pipeline sends one statement.')

/** What became of a pipeline: the results of its statements, or the first error and the place of its statement. */
type Outcome = { readonly results: readonly QueryResult[] } | { readonly error: unknown; readonly place: number }

async function sendPipeline(
  pool: Pool,
  settings: readonly TransactionSetting[],
  queries: readonly ExecutorQuery[],
): Promise<Outcome> {
  const client = await connectWithin(pool)
  let broken: Error | undefined
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    const PipelineQuery = findPipelineQuery(pool)
    const outcome =
      PipelineQuery === undefined
        ? await sendOneByOne(client, settings, queries, onError)
        : await submit(client, new PipelineQuery(queries, settings))
    if ('error' in outcome) {
      if (isOpen(client) || !leavesConnection(outcome.error)) onError(outcome.error as Error)
      return outcome
    }
    // By what somebody sent ahead of this without waiting for it, such as a `begin`.
    if (isOpen(client)) throw new Error('The connection was left in a transaction, so nothing was committed.')
    if (outcome.results.length !== queries.length)
      throw new Error(`Of ${queries.length} statements ${outcome.results.length} have a result.`)
    return outcome
  } catch (error) {
    onError(error as Error)
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** True while a transaction is open on the client, as far as it knows. */
function isOpen(client: PoolClient): boolean {
  const { getTransactionStatus } = client as { readonly getTransactionStatus?: (() => unknown) | undefined }
  return ['T', 'E'].includes(String(getTransactionStatus?.call(client)))
}

/** True for a refusal of data, of a constraint, of a conflict, of a text, of a lock or of a time; other errors may end the connection. */
const leavesConnection = (error: unknown) => /^(22|23|40|42|55|57014)/.test(sqlStateOf(error) ?? '')

async function submit(client: PoolClient, query: PipelineQuery): Promise<Outcome> {
  // A client accepts an object that submits itself. Only its types do not say so.
  const send = client.query.bind(client) as unknown as (query: object, done: SubmitDone) => void
  return await new Promise((resolve) => {
    send(query, (error, results) =>
      resolve(results === undefined ? { error, place: query.completed } : { results: resultsOf(results) }),
    )
  })
}

type SubmitDone = (error: unknown, results?: QueryResult | readonly QueryResult[]) => void

/** The same for clients that cannot send two statements at once. */
async function sendOneByOne(
  client: PoolClient,
  settings: readonly TransactionSetting[],
  queries: readonly ExecutorQuery[],
  onBroken: (error: Error) => void,
): Promise<Outcome> {
  const results: QueryResult[] = []
  try {
    await client.query(beginWith(settings))
    for (const query of queries) results.push(await client.query({ ...query, values: sentValues(query.values) }))
    await client.query('commit')
    return { results }
  } catch (error) {
    await client.query('rollback').catch(onBroken)
    return { error, place: results.length }
  }
}
