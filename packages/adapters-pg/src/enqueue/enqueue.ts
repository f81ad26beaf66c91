import { type EnqueuedTransfer, Id, OutlayError, type StoredTransfer } from '@outlay/core'
import { Column, type ExpectedFacts, type NewTransfer, rowDecoder, type StoredFacts } from '@outlay/core/adapter'
import { batchError } from '../batches/batches.ts'
import { factValues, otherFacts, readFacts } from '../control/policy-facts.ts'
import type { Driver } from '../database/driver.ts'
import { mayWrite } from '../database/enqueue-mark.ts'
import { violates } from '../database/lock-timeout.ts'
import { noTransaction } from '../database/open-transaction.ts'
import { type Statement, statements, storableJson } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'
import { explainEnqueue } from '../schema/enqueue-role.ts'
import { createCounterpartyStore } from '../transfers/counterparties.ts'
import { keepTraceOfMany, keepTraceOfOne } from '../transfers/trace-contexts.ts'
import { readOne, readTransfer, transferColumns } from '../transfers/transfer-row.ts'
import { chunkSize, createEnqueueChunks } from './enqueue-chunks.ts'
import { findDistinct } from './enqueue-repeats.ts'
import { alone, refuseBeside, runBeside } from './running-enqueues.ts'

/** A call that writes one transfer, unless another enqueue has a savepoint. */
const one = (call: string) => `select case when ${mayWrite('$13')} then ${call} else '${alone}' end as written`

/** The same, unless the facts by which it was judged are others, which it gives then. Their values begin at this parameter. */
const oneByFacts = (call: string, at: number) => one(`coalesce('${other}' || ${otherFacts(at)}, ${call})`)

/** The same for many. The condition has no column, so the function is not called where it is false. */
const many = (call: string) => `select written, at, stored_position from ${call} where ${mayWrite('$13')}
  union all select null, '${alone}', null where not ${mayWrite('$13')}`

/** What the statements answer with instead of a time where the facts are others, before these. */
const other = 'facts '

const callOne = '{{schema}}.enqueue_one_under($1, $2::uuid, $3, $4, $5, $6::jsonb, $7, $8, $9, $10, $11, $12)'
const callOneWith = '{{schema}}.enqueue_one_with($1, $2::uuid, $3, $4, $5, $6::jsonb, $7, $8, $9, $10, $11, $12::jsonb)'
const callOneBatched =
  '{{schema}}.enqueue_one_batched($1, $2::uuid, $3, $4, $5, $6::jsonb, $7, $8, $9, $10, $11, $12, $14)'

const texts = {
  enqueue_one: one(callOne),
  enqueue_many: many(`{{schema}}.enqueue_many_under(
    $1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7, $8::text[], $9::text[], $10::text[], $11::text[], $12)`),
  enqueue_one_with: one(callOneWith),
  enqueue_many_with: many(`{{schema}}.enqueue_many_with(
    $1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7, $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])`),
  enqueue_one_batched: one(callOneBatched),
  enqueue_one_by_facts: oneByFacts(callOne, 14),
  enqueue_one_with_by_facts: oneByFacts(callOneWith, 14),
  enqueue_one_batched_by_facts: oneByFacts(callOneBatched, 15),
  stored_key: `select ${transferColumns} from {{schema}}.transfer t where t.account_id = $1 and t.idempotency_key = $2`,
  stored_keys: `select ${transferColumns} from unnest($1::text[], $2::text[]) as k (account_id, key)
    join {{schema}}.transfer t on t.account_id = k.account_id and t.idempotency_key = k.key`,
} as const

const tracedTexts = {
  ...texts,
  enqueue_one_traced: keepTraceOfOne(texts.enqueue_one),
  enqueue_many_traced: keepTraceOfMany(texts.enqueue_many),
  enqueue_one_with_traced: keepTraceOfOne(texts.enqueue_one_with),
  enqueue_one_batched_traced: keepTraceOfOne(texts.enqueue_one_batched),
  enqueue_many_with_traced: keepTraceOfMany(texts.enqueue_many_with),
  enqueue_one_by_facts_traced: keepTraceOfOne(texts.enqueue_one_by_facts),
  enqueue_one_with_by_facts_traced: keepTraceOfOne(texts.enqueue_one_with_by_facts),
  enqueue_one_batched_by_facts_traced: keepTraceOfOne(texts.enqueue_one_batched_by_facts),
} as const

/** Shortest time between two notifications of one process, in milliseconds; commits that notify hold one lock in turn. */
const notifyIntervalMs = 10

/** Writes transfers, their events and their rows in the outbox in the host's transaction. */
export type Enqueue<Tx> = (
  tx: Tx,
  transfers: readonly NewTransfer[],
  traceparent?: string | undefined,
  policyTag?: string | null,
  expected?: ExpectedFacts | undefined,
) => Promise<Written>

/** What an enqueue comes to: the transfers, or why nothing is written. */
type Written = readonly EnqueuedTransfer[] | typeof stale | { readonly facts: StoredFacts }

/** Makes the enqueue of one process, on a driver. */
export function createEnqueue<Tx>(
  driver: Driver<Tx>,
  { schema, tokens }: Pick<DatabaseNames, 'schema' | 'tokens'>,
  notifies = true,
): Enqueue<Tx> {
  const sql = statements(tokens, tracedTexts)
  const chunks = createEnqueueChunks(driver, tokens)
  const counterparties = createCounterpartyStore(driver, tokens)
  let notifiedAt = 0
  const shouldNotify = () => {
    const now = performance.now()
    if (!notifies || now - notifiedAt < notifyIntervalMs) return false
    notifiedAt = now
    return true
  }
  const writeMany = async (tx: Tx, all: readonly NewTransfer[], how: Writing) => {
    const { transfers, spread } = findDistinct(all)
    const prepare = (part: readonly NewTransfer[], mark = '') => prepareMany(driver, sql, tx, part, { ...how, mark })
    const written = await (transfers.length > chunkSize
      ? chunks.write(tx, transfers, (positions, mark) =>
          prepare(
            positions.map((position) => transfers[position] as NewTransfer),
            mark,
          ),
        )
      : prepare(transfers)())
    if (written === alone) throw refuseBeside()
    if (written === undefined) throw await chunks.explain(tx, all)
    return written === stale ? stale : spread(written)
  }
  const write = async (tx: Tx, transfers: readonly NewTransfer[], how: Writing) => {
    const [only] = transfers
    const enqueued = await (only !== undefined && transfers.length === 1
      ? enqueueOne(driver, sql, tx, only, how)
      : writeMany(tx, transfers, how))
    if (enqueued === stale || 'facts' in enqueued) return enqueued
    const inline = transfers.filter(({ counterparty }, at) => counterparty !== undefined && !enqueued[at]?.reused)
    if (inline.length > 0) await counterparties.keep(tx, inline)
    return enqueued
  }
  return async (tx, transfers, traceparent, policyTag = null, expected = undefined) => {
    if (transfers.length === 0) return []
    if (tx === undefined || tx === null) throw noTransaction('is missing')
    const run = () => write(tx, transfers, { notify: shouldNotify(), traceparent, policyTag, expected, mark: '' })
    try {
      return await runBeside(tx, transfers.length > chunkSize, run)
    } catch (error) {
      if (violates(error, 'transfer_request_is_an_object')) throw encodedTwice(driver, error)
      throw await explainEnqueue(driver, schema, error)
    }
  }
}

type Sql = { readonly [K in keyof typeof tracedTexts]: Statement }

async function enqueueOne<Tx>(
  driver: Driver<Tx>,
  sql: Sql,
  tx: Tx,
  transfer: NewTransfer,
  { notify, traceparent, policyTag, expected, mark }: Writing,
): Promise<Written> {
  const { id, accountId, idempotencyKey, fingerprint } = transfer
  const request = JSON.stringify(transfer.request)
  const values = [
    id,
    Id.toUuid(id),
    accountId,
    idempotencyKey,
    fingerprint,
    request,
    notify,
    transfer.notBefore,
    transfer.expiresAt,
    transfer.environment ?? null,
    transfer.gateway,
  ]
  const { statement, beside } = chooseOne(transfer, policyTag, mark)
  const facts = expected === undefined ? [] : factValues(expected)
  const all = [...values, ...beside, ...facts, ...(traceparent === undefined ? [] : [traceparent])]
  const chosen = expected === undefined ? statement : (`${statement}_by_facts` as const)
  const name = traceparent === undefined ? chosen : (`${chosen}_traced` as const)
  const [row = {}] = await driver.execute(tx, sql[name], all)
  const { written } = readWritten(row)
  if (written === stale) return stale
  if (written === alone) throw refuseBeside()
  if (written?.startsWith(other)) return { facts: readFacts(written.slice(other.length)) }
  if (written?.startsWith(refused)) throw batchError(written.slice(refused.length), transfer.batchId)
  if (written !== null) return [fresh(transfer, written)]
  const stored = readOne(await driver.execute(tx, sql.stored_key, [accountId, idempotencyKey]))
  if (stored === undefined) throw storedId(id)
  return [{ ...stored, reused: true }]
}

/** The statement that writes a transfer, and its values behind those of the transfer. Nearly all that are in a batch have nothing else beside them. */
function chooseOne(transfer: NewTransfer, policyTag: string | null, mark: string) {
  const { batchId, ...others } = transfer
  if (batchId !== undefined && others.replaces === undefined && writeBeside(others, policyTag) === null)
    return { statement: 'enqueue_one_batched', beside: [policyTag, mark, batchId] } as const
  const beside = writeBeside(transfer, policyTag)
  const statement = beside === null ? 'enqueue_one' : 'enqueue_one_with'
  return { statement, beside: [beside ?? policyTag, mark] } as const
}

/** What is stored beside a transfer, as JSON text; null for nearly all, which are written by the statements without it. */
const writeBeside = (
  { metadata, batchId, replaces, createdBy, holds, watches }: NewTransfer,
  policies: string | null,
): string | null =>
  [metadata, batchId, createdBy, holds, watches].every((one) => one === undefined)
    ? null
    : storableJson({ metadata, batch: batchId, replaces, createdBy, holds, watches, policies })

/** What the functions answer with instead of a time where the policies are others. */
const stale = 'stale'

/** What the function answers with instead of a time where a batch may not have the transfer, before the reason. */
const refused = 'batch '

/** How transfers are written. */
interface Writing {
  readonly notify: boolean
  readonly traceparent: string | undefined
  /** Of the policies by which they were judged. */
  readonly policyTag: string | null
  /** Facts by which one transfer was judged. */
  readonly expected?: ExpectedFacts | undefined
  /** Of the enqueue that has a savepoint; empty for those without one. */
  readonly mark: string
}

/** Values of a statement; behind a plain one's is the tag of the policies, behind the others' what is beside the transfers, and the mark behind both. */
interface Run {
  readonly isPlain: boolean
  readonly values: readonly unknown[]
  readonly traceparent: string | undefined
}

const executeMany = <Tx>(driver: Driver<Tx>, sql: Sql, tx: Tx, { isPlain, values, traceparent }: Run) => {
  if (traceparent === undefined) return driver.execute(tx, isPlain ? sql.enqueue_many : sql.enqueue_many_with, values)
  const statement = isPlain ? sql.enqueue_many_traced : sql.enqueue_many_with_traced
  return driver.execute(tx, statement, [...values, traceparent])
}

/** Makes one statement of these transfers; it gives `undefined` and writes none when one has the key or the id of another request. */
function prepareMany<Tx>(
  driver: Driver<Tx>,
  sql: Sql,
  tx: Tx,
  transfers: readonly NewTransfer[],
  { notify, traceparent, policyTag, mark }: Writing,
): () => Promise<readonly EnqueuedTransfer[] | typeof stale | typeof alone | undefined> {
  const values = [
    transfers.map((transfer) => transfer.id),
    transfers.map((transfer) => Id.toUuid(transfer.id)),
    transfers.map((transfer) => transfer.accountId),
    transfers.map((transfer) => transfer.idempotencyKey),
    transfers.map((transfer) => transfer.fingerprint),
    transfers.map((transfer) => JSON.stringify(transfer.request)),
    notify,
    transfers.map((transfer) => transfer.notBefore ?? ''),
    transfers.map((transfer) => transfer.expiresAt ?? ''),
    transfers.map((transfer) => transfer.environment ?? ''),
    transfers.map((transfer) => transfer.gateway),
  ]
  const beside = transfers.map((transfer) => writeBeside(transfer, policyTag))
  const isPlain = beside.every((one) => one === null)
  return async () => {
    const given = [...values, isPlain ? policyTag : beside.map((one) => one ?? ''), mark]
    const rows = await executeMany(driver, sql, tx, { isPlain, values: given, traceparent })
    if (rows.some((row) => readTime(row).at === stale)) return stale
    if (rows.some((row) => readTime(row).at === alone)) return alone
    const written = rows.find((row) => readTime(row).at !== null)
    if (written === undefined) return undefined
    const { at } = readWrittenMany(written)
    const conflicting = new Set(
      rows.flatMap((row) => readStoredPosition(row).storedPosition ?? []).map((one) => one - 1),
    )
    const stored = await readStored(driver, sql, tx, transfers, conflicting)
    return transfers.map((transfer, index) => {
      if (!conflicting.has(index)) return fresh(transfer, at)
      const found = stored.get(keyOf(transfer))
      if (found === undefined) throw storedId(transfer.id)
      return { ...found, reused: true }
    })
  }
}

async function readStored<Tx>(
  driver: Driver<Tx>,
  sql: Sql,
  tx: Tx,
  transfers: readonly NewTransfer[],
  conflicting: ReadonlySet<number>,
): Promise<ReadonlyMap<string, StoredTransfer>> {
  if (conflicting.size === 0) return new Map()
  const wanted = transfers.filter((_, index) => conflicting.has(index))
  const values = [wanted.map((transfer) => transfer.accountId), wanted.map((transfer) => transfer.idempotencyKey)]
  const rows = await driver.execute(tx, sql.stored_keys, values)
  return new Map(rows.map(readTransfer).map((transfer) => [keyOf(transfer), transfer]))
}

const keyOf = (transfer: NewTransfer) => `${transfer.accountId}\n${transfer.idempotencyKey}`

function fresh(
  { counterparty: _, replaces: _replaces, watches: _watches, holds, ...transfer }: NewTransfer,
  at: string,
): EnqueuedTransfer {
  return {
    ...transfer,
    stage: holds === undefined ? 'queued' : 'held',
    status: 'pending',
    failure: null,
    remoteId: null,
    attempt: 0,
    reason: holds?.[0]?.name ?? null,
    createdAt: at,
    updatedAt: at,
    reused: false,
  }
}

const encodedTwice = ({ name }: { readonly name: string }, cause: unknown) =>
  new Error(
    `The driver "${name}" has encoded JSON text as JSON once more, so the request would be stored as a string; a driver has to send JSON parameters as the text that they are.`,
    { cause },
  )

function storedId(id: string): OutlayError {
  return new OutlayError('conflict', `Another transfer has the id ${id}; leave the id out or generate a new one.`, {
    field: 'id',
  })
}

const readWritten = rowDecoder('enqueue', { written: Column.or(Column.text, null) })
const readTime = rowDecoder('enqueue', { at: Column.nullable(Column.text) })
const readWrittenMany = rowDecoder('enqueue', { at: Column.text })
const readStoredPosition = rowDecoder('enqueue', { storedPosition: Column.nullable(Column.integer) })
