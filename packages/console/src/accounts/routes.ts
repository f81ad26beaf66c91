import { createHash } from 'node:crypto'
import type { AccountLimitsChange, Stop } from '@outlay/core'
import { z } from 'zod'
import type { Person } from '../authorization/authorization.ts'
import { component } from '../component.ts'
import type { ConsoleContext, Transaction } from '../context.ts'
import { foreignText } from '../redaction.ts'
import { route } from '../routing/route.ts'
import { reasonBody, reasonSchema, sinceBody } from '../transfers/actions.ts'
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
    const filter = { paused: paused !== undefined, limit, accountIds }
    // A digest: a person may have ten thousand accounts.
    const name = `accounts ${createHash('sha256').update(JSON.stringify(filter)).digest('hex')}`
    return { accounts: await context.figures(name, ({ inspection }) => inspection.accounts(filter)) }
  },
})

const knownSchema = z.boolean().nullable().meta({
  description:
    'False where no transfer of the account is known here: its id may be mistyped. Null where that could not be read.',
})

const accountSchema = component(
  'Account',
  z.object({
    accountId: z.string(),
    paused: z.boolean(),
    pause: z.object({ since: nullableText, actor: nullableText, reason: foreignText.nullable() }).nullable().meta({
      description: 'Its pause; null where it is not paused. A pause by code of an earlier release has no time.',
    }),
    ...limits,
    stopped: z
      .object({ since: z.string(), actor: nullableText, reason: foreignText.nullable() })
      .nullable()
      .meta({ description: 'The stop of this account; null where there is none.' }),
    known: knownSchema,
    credentialsRefused: z.boolean(),
    backlog: z.array(backlogSchema).meta({ description: 'One entry for each gateway with unsettled transfers.' }),
  }),
)

/** Whether an account has transfers here; null where that cannot be read. What was done about it must not seem to have failed for that. */
const isKnown = ({ inspection }: ConsoleContext, accountId: string): Promise<boolean | null> =>
  inspection.transfers({ accountId, limit: 1 }).then(
    ({ length }) => length > 0,
    () => null,
  )

const findStop = async ({ reads }: ConsoleContext, accountId: string): Promise<Stop | null> =>
  (await reads.stops.list()).find(({ scope, name }) => scope === 'account' && name === accountId) ?? null

async function readAccount(context: ConsoleContext, accountId: string) {
  const { reads, inspection } = context
  const state = await reads.accounts.get(accountId)
  const stopped = await findStop(context, accountId)
  const known = await isKnown(context, accountId)
  const { refused } = await inspection.holds(accountId)
  const backlog = await inspection.accounts({ accountIds: [accountId] })
  return { ...state, stopped, known, credentialsRefused: refused.length > 0, backlog }
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
    known: knownSchema,
    stop: z
      .object({ since: z.string(), actor: nullableText, reason: foreignText.nullable() })
      .nullable()
      .meta({ description: 'Where it was stopped before: that stop. Whoever ends it ends it for all.' }),
  }),
)

/** Without what is read behind the commit. */
const changedAccount = (accountId: string, changed: boolean, count: number | null = null) => ({
  ...{ accountId, changed, count },
  ...{ known: null, stop: null },
})

/** Does something with an account. Actions that change nothing have no entry in the audit. */
const accountAction = <const V extends string>(
  {
    verb,
    summary,
    command,
    isHoldingBack = false,
  }: {
    readonly verb: V
    readonly summary: string
    readonly command: string
    /** True for what is done although the audit cannot be written, and at once. */
    readonly isHoldingBack?: boolean
  },
  run: (
    engine: ConsoleContext['engine'],
    tx: Transaction,
    accountId: string,
    by: { readonly actor: string; readonly reason: string },
    since?: string,
  ) => Promise<boolean | number>,
) =>
  route({
    ...{ tag: 'Accounts', method: 'post', about: 'account', permission: 'act', summary, answer: changedSchema },
    id: `${camelCase(verb)}Account`,
    path: `/accounts/:accountId/${verb}` as const,
    isUrgent: isHoldingBack,
    body: verb === 'start' || verb === 'resume' ? sinceBody : reasonBody,
    async handle({ context, person, subject, body: { reason, since } }: AccountCall) {
      const by = { actor: person.actor, reason }
      const act = isHoldingBack ? context.holdBack : context.act
      const done = await act(person.actor, async (tx, record) => {
        const result = await run(context.engine, tx, subject, by, since)
        const changed = typeof result === 'number' ? result > 0 : result
        const count = typeof result === 'number' ? result : null
        if (changed) await record({ command, reason, after: { accountId: subject, count } })
        return changedAccount(subject, changed, count)
      })
      const stop = verb === 'stop' && !done.changed ? await findStop(context, subject).catch(() => null) : null
      return { ...done, stop, known: await isKnown(context, subject) }
    },
  })

interface AccountCall {
  readonly context: ConsoleContext
  readonly person: Person
  readonly subject: string
  readonly body: { readonly reason: string; readonly since?: string | undefined }
}

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
      return changedAccount(subject, true)
    })
  },
})

/** Reads and actions of accounts. */
export const accountRoutes = [
  listAccounts,
  showAccount,
  accountAction(
    {
      ...{ verb: 'pause', command: 'accounts.pause', isHoldingBack: true },
      summary: 'Keeps the transfers of an account from being submitted',
    },
    (engine, tx, accountId, by) => engine.accounts.pause(tx, accountId, by),
  ),
  accountAction(
    { verb: 'resume', command: 'accounts.resume', summary: 'Resumes a paused account' },
    (engine, tx, accountId, by, since) => engine.accounts.resume(tx, accountId, { ...by, since }),
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
      ...{ verb: 'stop', command: 'stops.add', isHoldingBack: true },
      summary: 'Stops sending for an account, in every worker, until it is started',
    },
    (engine, tx, name, by) => engine.stops.add(tx, { scope: 'account', name, ...by }),
  ),
  accountAction(
    { verb: 'start', command: 'stops.end', summary: 'Ends the stop of an account' },
    (engine, tx, name, by, since) => engine.stops.end(tx, { scope: 'account', name, ...by, since }),
  ),
  configureAccount,
] as const
