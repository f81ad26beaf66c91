import { createHash } from 'node:crypto'
import type { AccountLimitsChange } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import type { ConsoleContext, Transaction } from '../context.ts'
import { route } from '../routing/route.ts'
import { reasonBody, reasonSchema } from '../transfers/actions.ts'
import { limitSchema } from '../transfers/filter.ts'
import { readWaiting } from '../waiting.ts'

const nullableText = z.string().nullable()
const nullableNumber = z.number().nullable()

const limits = {
  ratePerSecond: nullableNumber.meta({ description: 'Submissions per second; null for no limit.' }),
  concurrency: z.int().nullable().meta({ description: 'Submissions under way at once; null for no limit.' }),
  weight: z.number().meta({ description: 'Share in the fair order of dispatch.' }),
  throttledRatePerSecond: nullableNumber,
  throttledUntil: nullableText,
}

const backlogSchema = component(
  'AccountBacklog',
  z.object({
    accountId: z.string(),
    gateway: z.string(),
    paused: z.boolean(),
    queued: z.int(),
    submitting: z.int(),
    awaitingFunds: z.int(),
    blocked: z.int(),
    submitted: z.int(),
    held: z.int(),
    oldestUnsubmittedAt: nullableText,
    oldestSubmittedAt: nullableText,
    fundsArrivedAt: nullableText,
    ...limits,
  }),
)

const listAccounts = route({
  id: 'listAccounts',
  tag: 'Accounts',
  method: 'get',
  path: '/accounts',
  summary: 'Accounts with unsettled transfers, paused ones and ones with limits; the longest wait first',
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({ paused: z.literal('true').optional(), limit: limitSchema }),
  answer: component('Accounts', z.object({ accounts: z.array(backlogSchema) })),
  async handle({ context, subject, query: { paused, limit = 50 } }) {
    const accountIds = subject === 'all' ? undefined : subject
    const filter = { paused: paused !== undefined, limit, accountIds }
    // A digest: a person may have ten thousand accounts.
    const name = `accounts ${createHash('sha256').update(JSON.stringify(filter)).digest('hex')}`
    return { accounts: await readWaiting(context, name, () => context.inspection.accounts(filter)) }
  },
})

const accountSchema = component(
  'Account',
  z.object({
    accountId: z.string(),
    paused: z.boolean(),
    ...limits,
    stopped: z
      .object({ since: z.string(), actor: nullableText })
      .nullable()
      .meta({ description: 'The stop of this account; null where there is none.' }),
    credentialsRefused: z.boolean(),
    backlog: z.array(backlogSchema).meta({ description: 'One entry for each gateway with unsettled transfers.' }),
  }),
)

async function readAccount(context: ConsoleContext, accountId: string) {
  const { reads, inspection } = context
  const state = await reads.accounts.get(accountId)
  const stop = (await reads.stops.list()).find(({ scope, name }) => scope === 'account' && name === accountId)
  const { refused } = await inspection.holds(accountId)
  const name = `account ${accountId}`
  const backlog = await readWaiting(context, name, () => inspection.accounts({ accountIds: [accountId] }))
  return { ...state, stopped: stop ?? null, credentialsRefused: refused.length > 0, backlog }
}

const showAccount = route({
  id: 'showAccount',
  tag: 'Accounts',
  method: 'get',
  path: '/accounts/:accountId',
  summary:
    'The state of one account: its limits, what keeps it from sending, and what waits. One that was never used has the defaults',
  permission: 'read',
  about: 'account',
  answer: accountSchema,
  handle: ({ context, subject }) => readAccount(context, subject),
})

const changedSchema = component(
  'ChangedAccount',
  z.object({
    accountId: z.string(),
    changed: z.boolean().meta({ description: 'False when it was so before.' }),
    count: z.int().nullable().meta({ description: 'Transfers that are due again, where the action counts them.' }),
  }),
)

/** Does something with an account. Actions that change nothing have no entry in the audit. */
const accountAction = <const V extends string>(
  { verb, summary, command }: { readonly verb: V; readonly summary: string; readonly command: string },
  run: (
    engine: ConsoleContext['engine'],
    tx: Transaction,
    accountId: string,
    by: { readonly actor: string; readonly reason: string },
  ) => Promise<boolean | number>,
) =>
  route({
    ...{ tag: 'Accounts', method: 'post', about: 'account', permission: 'act', summary, answer: changedSchema },
    id: `${camelCase(verb)}Account`,
    path: `/accounts/:accountId/${verb}` as const,
    body: reasonBody,
    handle: ({ context, person, subject, body: { reason } }) =>
      context.act(person.actor, async (tx, record) => {
        const done = await run(context.engine, tx, subject, { actor: person.actor, reason })
        const changed = typeof done === 'number' ? done > 0 : done
        const count = typeof done === 'number' ? done : null
        if (changed) await record({ command, reason, after: { accountId: subject, count } })
        return { accountId: subject, changed, count }
      }),
  })

const camelCase = (verb: string): string => verb.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

const limitsBody = component(
  'AccountLimits',
  z.strictObject({
    reason: reasonSchema,
    ratePerSecond: z.number().nullable().optional(),
    concurrency: z.number().nullable().optional(),
    weight: z.number().nullable().optional(),
  }),
)

const configureAccount = route({
  id: 'configureAccount',
  tag: 'Accounts',
  method: 'patch',
  path: '/accounts/:accountId/limits',
  summary: 'Changes the limits of an account; an absent member stays as it is, and null resets it',
  permission: 'configure',
  about: 'account',
  body: limitsBody,
  answer: changedSchema,
  async handle({ context, person, subject, body: { reason, ...change } }) {
    const { ratePerSecond, concurrency, weight } = await context.reads.accounts.get(subject)
    const before = { accountId: subject, ratePerSecond, concurrency, weight }
    return context.act(person.actor, async (tx, record) => {
      const by = { actor: person.actor, reason }
      await context.engine.accounts.configure(tx, subject, change as AccountLimitsChange, by)
      await record({ command: 'accounts.configure', reason, before, after: { accountId: subject, ...change } })
      return { accountId: subject, changed: true, count: null }
    })
  },
})

/** Reads and actions of accounts. */
export const accountRoutes = [
  listAccounts,
  showAccount,
  accountAction(
    {
      ...{ verb: 'pause', command: 'accounts.pause' },
      summary: 'Keeps the transfers of an account from being submitted',
    },
    (engine, tx, accountId, by) => engine.accounts.pause(tx, accountId, by),
  ),
  accountAction(
    { verb: 'resume', command: 'accounts.resume', summary: 'Resumes a paused account' },
    (engine, tx, accountId, by) => engine.accounts.resume(tx, accountId, by),
  ),
  accountAction(
    {
      ...{ verb: 'funds-arrived', command: 'accounts.funds_arrived' },
      summary: 'Sends the transfers of an account again that await funds',
    },
    (engine, tx, accountId, by) => engine.accounts.fundsArrived(tx, accountId, by),
  ),
  accountAction(
    {
      ...{ verb: 'retry-credentials', command: 'accounts.retry_credentials' },
      summary: 'Probes the refused credentials of an account now',
    },
    (engine, tx, accountId, by) => engine.accounts.retryCredentials(tx, accountId, by),
  ),
  // What the engine calls a stop of an account is one in the audit, too.
  accountAction(
    {
      ...{ verb: 'stop', command: 'stops.add' },
      summary: 'Stops sending for an account, in every worker, until it is started',
    },
    (engine, tx, name, by) => engine.stops.add(tx, { scope: 'account', name, ...by }),
  ),
  accountAction(
    { verb: 'start', command: 'stops.end', summary: 'Ends the stop of an account' },
    (engine, tx, name, by) => engine.stops.end(tx, { scope: 'account', name, ...by }),
  ),
  configureAccount,
] as const
