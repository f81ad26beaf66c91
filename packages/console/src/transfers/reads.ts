import { judge } from '@outlay/cli/checks'
import { Id, type StoredTransfer } from '@outlay/core'
import { z } from 'zod'
import { auditRecordSchema, viewRecord } from '../audit/audit-view.ts'
import { type Accounts, covers } from '../authorization/scope.ts'
import { component } from '../component.ts'
import type { ConsoleContext } from '../context.ts'
import { notFound, parameterError } from '../http/problem.ts'
import { foreignText } from '../redaction.ts'
import { route } from '../routing/route.ts'
import { filterSchema, limitSchema, pageFilterSchema } from './filter.ts'
import { heldSchema, viewHeld } from './held-view.ts'
import { findTransfers } from './search.ts'
import { addTotals, totalSchema } from './totals.ts'
import { transferSchema, viewTransfer } from './transfer-view.ts'

const nullableText = z.string().nullable()

const listTransfers = route({
  id: 'listTransfers',
  tag: 'Transfers',
  method: 'get',
  path: '/transfers',
  summary: 'Transfers, the newest first',
  permission: 'read',
  about: 'accounts',
  query: pageFilterSchema,
  answer: component(
    'TransferPage',
    z.object({
      transfers: z.array(transferSchema),
      nextCursor: nullableText.meta({
        description: 'Null behind the last page. A page may be short, or empty, and still have one.',
      }),
    }),
  ),
  async handle({ context, subject, signal, query: { limit = 50, cursor, ...filter } }) {
    if (cursor !== undefined && !Id.is(cursor)) throw parameterError('cursor', 'is not the nextCursor of a page.')
    const { transfers, nextCursor } = await findTransfers(context, subject, filter, { limit, cursor, signal })
    return { transfers: transfers.map((one) => viewTransfer(one, context.shownMetadata)), nextCursor }
  },
})

const findTransfer = route({
  id: 'findTransfer',
  tag: 'Transfers',
  method: 'get',
  path: '/transfers/by-key',
  summary: 'A transfer by its account and its idempotency key',
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({ accountId: z.string().min(1).max(255), idempotencyKey: z.string().min(1).max(255) }),
  answer: component('FoundTransfer', z.object({ transfer: transferSchema })),
  async handle({ context, subject, query: { accountId, idempotencyKey } }) {
    if (!covers(subject, accountId)) throw notFound()
    const transfer = await context.reads.transfers.getByKey(accountId, idempotencyKey)
    if (transfer === undefined) throw notFound()
    return { transfer: viewTransfer(transfer, context.shownMetadata) }
  },
})

const foundTransfers = component('FoundTransfers', z.object({ transfers: z.array(transferSchema) }))

/** Most transfers of different accounts with one id at the service, or with one key. */
const mostAlike = 20

const findByRemoteId = route({
  id: 'findTransfersByRemoteId',
  tag: 'Transfers',
  method: 'get',
  path: '/transfers/by-remote-id',
  summary: 'Transfers by their id at the service, the newest first, at most 20: each account and gateway has its own',
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({ remoteId: z.string().min(1).max(255) }),
  answer: foundTransfers,
  async handle({ context, subject, signal, query: { remoteId } }) {
    const accountIds = subject === 'all' ? undefined : subject
    const ids = await context.searchRemoteId({ remoteId, accountIds, limit: mostAlike })
    return { transfers: await readAll(context, ids, signal) }
  },
})

/** Most accounts that a key is searched in. */
const mostSearched = 5_000

const findByKey = route({
  id: 'findTransfersByKey',
  tag: 'Transfers',
  method: 'get',
  path: '/transfers/with-key',
  summary: `Transfers by their idempotency key alone, the newest first, at most 20: each account has its own; of the first ${mostSearched} accounts that you may read`,
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({ idempotencyKey: z.string().min(1).max(255) }),
  answer: component(
    'TransfersWithKey',
    z.object({
      transfers: z.array(transferSchema),
      isCut: z.boolean().meta({
        description: `True where there are more accounts than the ${mostSearched} that were searched, or more transfers than these: others may have the key, too. \`by-key\` finds it in the account that it names.`,
      }),
    }),
  ),
  async handle({ context, subject, signal, query: { idempotencyKey } }) {
    const accountIds = subject === 'all' ? undefined : subject.slice(0, mostSearched)
    const query = { idempotencyKey, accountIds, mostAccounts: mostSearched, limit: mostAlike }
    const { ids, isCut } = await context.searchKey(query)
    const isListCut = subject !== 'all' && subject.length > mostSearched
    return { transfers: await readAll(context, ids, signal), isCut: isCut || isListCut }
  },
})

async function readAll({ reads, shownMetadata }: ConsoleContext, ids: readonly string[], signal: AbortSignal) {
  const transfers = []
  for (const id of ids) {
    signal.throwIfAborted()
    const found = await reads.transfers.get(id)
    if (found !== undefined) transfers.push(viewTransfer(found, shownMetadata))
  }
  return transfers
}

const totalTransfers = route({
  id: 'totalTransfers',
  tag: 'Transfers',
  method: 'get',
  path: '/transfers/totals',
  summary: 'Count and sum of all transfers of a filter, by currency and status',
  permission: 'read',
  about: 'accounts',
  query: filterSchema,
  answer: component('Totals', z.object({ totals: z.array(totalSchema) })),
  handle: async ({ context, subject, signal, query }) => ({
    totals: await addTotals(context, subject, query, signal),
  }),
})

const stuckSchema = component(
  'StuckTransfer',
  z.object({
    id: z.string(),
    accountId: z.string(),
    gateway: z.string(),
    stage: z.string(),
    reason: nullableText,
    waitsFor: foreignText,
    remedy: foreignText,
    since: z.string(),
    waitingMs: z.number(),
    attempts: z.int(),
    nextAttemptAt: nullableText,
  }),
)

const listStuck = route({
  id: 'listStuckTransfers',
  tag: 'Transfers',
  method: 'get',
  path: '/transfers/stuck',
  summary: 'Transfers that wait for something other than their turn, the longest first',
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({ accountId: z.string().min(1).max(255).optional(), limit: limitSchema }),
  answer: component('StuckTransfers', z.object({ transfers: z.array(stuckSchema) })),
  async handle({ context, subject, query: { accountId, limit = 50 } }) {
    const only = oneAccount(subject, accountId)
    const filter = { ...(only === undefined ? {} : { accountId: only }), limit }
    const name = `stuck ${JSON.stringify(filter)}`
    return { transfers: await context.figures(name, ({ inspection }) => inspection.stuck(filter)) }
  },
})

/** The account that is meant, or undefined for all; a person who may not read all names one. */
function oneAccount(accounts: Accounts, accountId: string | undefined): string | undefined {
  if (accountId !== undefined && !covers(accounts, accountId)) throw notFound()
  if (accountId === undefined && accounts !== 'all')
    throw parameterError('accountId', 'is needed: you may read some accounts. Name one of them.')
  return accountId
}

const timelineSchema = component(
  'TransferTimeline',
  z.object({
    transfer: transferSchema,
    waitsFor: foreignText.nullable(),
    remedy: foreignText.nullable(),
    client: nullableText,
    submissionKey: nullableText,
    unknownSince: nullableText,
    nextAttemptAt: nullableText,
    nextPollAt: nullableText,
    jobState: nullableText,
    archivedAt: nullableText,
    attempts: z.array(
      z.object({
        attempt: z.int(),
        worker: z.string(),
        claimedAt: z.string(),
        answeredAt: nullableText,
        outcome: nullableText,
        detail: foreignText.nullable(),
        httpStatus: z.int().nullable(),
        requestId: nullableText,
        remoteId: nullableText,
        gateway: nullableText,
        step: z.string().optional(),
      }),
    ),
    events: z.array(
      z.object({
        sequence: z.int(),
        type: z.string(),
        stage: z.string(),
        status: z.string(),
        reason: nullableText,
        remoteId: nullableText,
        attempt: z.int(),
        occurredAt: z.string(),
      }),
    ),
    deliveries: z.array(
      z.object({
        subscription: z.string(),
        sequence: z.int(),
        dueAt: z.string(),
        failures: z.int(),
        dead: z.boolean(),
        lastError: foreignText.nullable(),
      }),
    ),
    subscriptions: z.array(z.string()),
    returns: z.array(
      z.object({
        identity: z.string(),
        code: z.string(),
        amount: nullableText,
        currency: nullableText,
        occurredAt: nullableText,
        seenAt: z.string(),
        problem: foreignText.nullable(),
        resolvedAt: nullableText,
        resolvedBy: nullableText,
        resolutionNote: foreignText.nullable(),
      }),
    ),
    held: heldSchema,
    audit: z.array(auditRecordSchema).meta({ description: 'Who did what, the newest first; at most 100 entries.' }),
    sameRemoteId: z.array(z.string()),
    sameRequest: z.array(z.string()),
    otherGateways: z.array(z.string()).meta({
      description:
        'Gateways that a resubmission may name instead of its own, where its own has never accepted it and the person may act on it.',
    }),
  }),
)

const showTransfer = route({
  id: 'showTransfer',
  tag: 'Transfers',
  method: 'get',
  path: '/transfers/:transferId',
  summary: 'One transfer with its timeline: attempts, events, deliveries, holds, returns, and who did what',
  permission: 'read',
  about: 'transfer',
  answer: timelineSchema,
  async handle({ context, person, subject: { id } }) {
    const { read } = person.permissions
    const evidence = await readEvidence(context, id)
    const [stuck] = await context.inspection.stuck({ id, limit: 1 })
    const held = await context.reads.transfers.holds(id)
    const records = await context.reads.audit.list({ transferId: id, limit: 100 })
    const { client, submissionKey, unknownSince, nextAttemptAt, nextPollAt, jobState } = evidence.summary
    return {
      ...evidence,
      ...{ client, submissionKey, unknownSince, nextAttemptAt, nextPollAt, jobState },
      transfer: viewTransfer(evidence.transfer, context.shownMetadata),
      waitsFor: stuck?.waitsFor ?? null,
      remedy: stuck?.remedy ?? null,
      held: held === undefined ? nothingHeld : viewHeld(held, read),
      audit: records.map((one) => viewRecord(one, context.shownMetadata, read)),
      otherGateways: covers(person.permissions.act, evidence.transfer.accountId)
        ? await findOtherGateways(context, evidence.transfer)
        : [],
    }
  },
})

/** Gateways that workers have or had, without the one of a transfer that may be resubmitted elsewhere; none for any other. */
async function findOtherGateways(
  { inspection }: ConsoleContext,
  { gateway, stage, status, remoteId, resubmittedAs }: StoredTransfer,
): Promise<readonly string[]> {
  const isUnpaid = stage === 'settled' && (status === 'failed' || status === 'canceled')
  if (!isUnpaid || remoteId !== null || resubmittedAs !== undefined) return []
  return (await inspection.gateways()).filter((name) => name !== gateway)
}

const nothingHeld = { createdBy: null, holds: [], approvals: [], missing: [] }

async function readEvidence({ inspection }: ConsoleContext, id: string) {
  const evidence = await inspection.evidence(id)
  if (evidence === undefined) throw notFound()
  return evidence
}

const proveTransfer = route({
  id: 'proveTransfer',
  tag: 'Transfers',
  method: 'get',
  path: '/transfers/:transferId/proof',
  summary: 'The verdict on all evidence about one transfer, in words',
  permission: 'read',
  about: 'transfer',
  answer: component(
    'Proof',
    z.object({
      transferId: z.string(),
      conclusion: z.enum(['one_effect', 'no_effect', 'undecided', 'unknown', 'contradiction']),
      because: z.array(foreignText),
      checks: z.array(z.object({ check: z.string(), holds: z.boolean() })),
    }),
  ),
  handle: async ({ context, subject: { id } }) => ({
    transferId: id,
    ...judge(await readEvidence(context, id)),
  }),
})

/** Reads of transfers. Fixed segments stand before parameters. */
export const transferReads = [
  listTransfers,
  findTransfer,
  findByRemoteId,
  findByKey,
  totalTransfers,
  listStuck,
  showTransfer,
  proveTransfer,
] as const
