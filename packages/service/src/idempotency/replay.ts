import { OutlayError } from '@outlay/core'
import { readInClientPipeline, type ServiceContext } from '../context.ts'
import type { Executor } from '../database/statement.ts'
import { asClient } from '../database/tenant.ts'
import { findKey, type KeyedRequest, type KeyRecord, type StoredResponse } from './keys.ts'

/** The stored answer of a key. */
export interface Answer extends StoredResponse {
  readonly replayed: boolean
}

/** Thrown at the first read of a preparation whose key has an answer already. */
export class Replayed extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super('The key has an answer already.')
    this.answer = answer
  }
}

/** What a create reads before it writes: whether its key has an answer, and the data of its preparation. */
export interface CreateReads {
  /**
   * Runs single statements as the client. While the key is unread, the first one reads it in the same round trip.
   * @throws Replayed when the key has an answer.
   * @throws OutlayError `idempotency_key_mismatch`
   */
  readonly executor: Executor
  /**
   * Reads the key unless that was done. Resolves with its answer, if any.
   * @throws OutlayError `idempotency_key_mismatch`
   */
  findReplay(): Promise<Answer | undefined>
}

/** Starts the reads of a create. */
export function startReads(context: ServiceContext, request: KeyedRequest): CreateReads {
  const client = asClient(context, request.clientId)
  let isKeyRead = false
  return {
    async findReplay() {
      if (isKeyRead) return undefined
      isKeyRead = true
      return replayOf(await findKey(client, context, request), request)
    },
    executor: {
      async send(query) {
        if (isKeyRead) return await client.send(query)
        isKeyRead = true
        const [record, result] = await readInClientPipeline(context, request.clientId, [
          (tx) => findKey(tx, context, request),
          (tx) => tx.query({ ...query, values: [...query.values] }),
        ]).catch((error: unknown) => {
          isKeyRead = false
          throw error
        })
        const answer = replayOf(record, request)
        if (answer !== undefined) throw new Replayed(answer)
        return result
      },
    },
  }
}

/** @throws OutlayError `idempotency_key_mismatch` */
function replayOf(record: KeyRecord | undefined, request: KeyedRequest): Answer | undefined {
  if (record === undefined) return undefined
  if (record.fingerprint !== request.fingerprint)
    throw new OutlayError(
      'idempotency_key_mismatch',
      'The idempotency key cannot be reused with a different payload or URI.',
      { field: 'Idempotency-Key:' },
    )
  return { ...record.response, replayed: true }
}
