import type { AccountLimitsChange } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import type { ConsoleContext, Transaction } from '../context.ts'
import { type Route, route } from '../routing/route.ts'
import { reasonBody, reasonSchema } from '../transfers/actions.ts'
import { limitSchema } from '../transfers/filter.ts'

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
    return { accounts: await context.inspection.accounts({ paused: paused !== undefined, limit, accountIds }) }
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

async function readAccount({ reads, inspection }: ConsoleContext, accountId: string) {
  const state = await reads.accounts.get(accountId)
  const stop = (await reads.stops.list()).find(({ scope, name }) => scope === 'account' && name === accountId)
  const { refused } = await inspection.holds(accountId)
  const backlog = await inspection.accounts({ accountIds: [accountId] })
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
const accountAction = (
  { verb, summary }: { readonly verb: string; readonly summary: string },
  run: (
    engine: ConsoleContext['engine'],
    tx: Transaction,
    accountId: string,
    by: { readonly actor: string; readonly reason: string },
  ) => Promise<boolean | number>,
): Route =>
  route({
    ...{ tag: 'Accounts', method: 'post', about: 'account', permission: 'act', summary, answer: changedSchema },
    id: `${camelCase(verb)}Account`,
    path: `/accounts/:accountId/${verb}`,
    body: reasonBody,
    handle: ({ context, person, subject, body: { reason } }) =>
      context.act(person.actor, async (tx, record) => {
        const done = await run(context.engine, tx, subject, { actor: person.actor, reason })
        const changed = typeof done === 'number' ? done > 0 : done
        const count = typeof done === 'number' ? done : null
        const command = `accounts.${verb.replaceAll('-', '_')}`
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
      await context.engine.accounts.configure(tx, subject, change as AccountLimitsChange)
      await record({ command: 'accounts.configure', reason, before, after: { accountId: subject, ...change } })
      return { accountId: subject, changed: true, count: null }
    })
  },
})

/** Reads and actions of accounts. */
export const accountRoutes: readonly Route[] = [
  listAccounts,
  showAccount,
  accountAction(
    { verb: 'pause', summary: 'Keeps the transfers of an account from being submitted' },
    (engine, tx, accountId) => engine.accounts.pause(tx, accountId),
  ),
  accountAction({ verb: 'resume', summary: 'Resumes a paused account' }, (engine, tx, accountId) =>
    engine.accounts.resume(tx, accountId),
  ),
  accountAction(
    { verb: 'funds-arrived', summary: 'Sends the transfers of an account again that await funds' },
    (engine, tx, accountId) => engine.accounts.fundsArrived(tx, accountId),
  ),
  accountAction(
    { verb: 'retry-credentials', summary: 'Probes the refused credentials of an account now' },
    (engine, tx, accountId) => engine.accounts.retryCredentials(tx, accountId),
  ),
  accountAction(
    { verb: 'stop', summary: 'Stops sending for an account, in every worker, until it is started' },
    (engine, tx, name, by) => engine.stops.add(tx, { scope: 'account', name, ...by }),
  ),
  accountAction({ verb: 'start', summary: 'Ends the stop of an account' }, (engine, tx, name) =>
    engine.stops.end(tx, { scope: 'account', name }),
  ),
  configureAccount,
]
