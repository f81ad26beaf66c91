import { type Batch, Id, type StoredTransfer } from '@outlay/core'
import { z } from 'zod'
import type { Permission, Person } from '../authorization/authorization.ts'
import { type Accounts, covers } from '../authorization/scope.ts'
import type { ConsoleContext } from '../context.ts'
import { readJson } from '../http/body.ts'
import { isDownload, withinPlaces } from '../http/download.ts'
import type { Enter } from '../http/places.ts'
import { forbidden, notFound } from '../http/problem.ts'
import { check, readQuery } from './input.ts'
import type { Subjects } from './route.ts'
import type { Match } from './router.ts'

/** A request of somebody who is known. */
export interface Arrived {
  readonly context: ConsoleContext
  readonly person: Person
  readonly request: Request
  readonly signal: AbortSignal
  /** Waits for a place at the database. Nobody has one while a body arrives, which may take long. */
  readonly enter: Enter
  /** The same for what holds payments back. */
  readonly enterUrgent: Enter
}

const noQuery = z.strictObject({})

/**
 * Checks permission, query and body, runs the handler, and keeps of its result what the route declares. The permission comes first: somebody who may
 * not do it does not learn what would have been wrong.
 */
export async function dispatch(arrived: Arrived, { route, params }: Match): Promise<unknown> {
  const { context, person, request, signal } = arrived
  const enter = route.isUrgent === true ? arrived.enterUrgent : arrived.enter
  const subject = await enter(person.actor, signal, () => findSubject(context, person, { route, params }))
  const query = check(route.query ?? noQuery, readQuery(new URL(request.url).searchParams), true)
  const body = route.body === undefined ? undefined : check(route.body, await readJson(request, signal), false)
  // Before the commit, so that an action that was done does not seem to have failed.
  const checked =
    (act: ConsoleContext['act']): ConsoleContext['act'] =>
    (actor, work) =>
      act(actor, async (tx, record) => {
        const result = await work(tx, record)
        route.answer.parse(result)
        return result
      })
  const acting = { ...context, act: checked(context.act), holdBack: checked(context.holdBack) }
  const call = { context: acting, person, subject, params, query, body, signal }
  const result = await enter(person.actor, signal, () => route.handle(call))
  // Its rows were parsed one by one, and it outlives the time of an answer: only the reader ends it.
  if (route.media !== undefined && isDownload(result))
    return withinPlaces(result, (work) => enter(person.actor, request.signal, work))
  return route.answer.parse(result)
}

/**
 * Finds what a route is about, for a person who may do that with it.
 * @throws OutlayError `not_found` for what the person may not read, as for what does not exist; `forbidden` for what they may only read
 */
async function findSubject(
  context: ConsoleContext,
  person: Person,
  { route: { about, permission }, params }: Match,
): Promise<Subjects[keyof Subjects]> {
  const { permissions } = person
  switch (about) {
    case 'anybody':
      return undefined
    case 'all':
      if (permissions[permission] !== 'all') throw forbidden(permission, 'on all accounts')
      return undefined
    case 'accounts':
      if (permissions[permission].length === 0) throw forbidden(permission, 'on an account')
      return permissions[permission]
    case 'account': {
      const { accountId = '' } = params
      return permitted(accountId, { accountIds: [accountId], permissions, permission })
    }
    case 'transfer': {
      const transfer = await findTransfer(context, params['transferId'])
      return permitted(transfer, { accountIds: [transfer?.accountId], permissions, permission })
    }
    case 'batch': {
      const batch = await findBatch(context, params['batchId'])
      return permitted(batch, { accountIds: [batch?.accountId ?? null], permissions, permission })
    }
  }
}

const findTransfer = async ({ reads }: ConsoleContext, id = ''): Promise<StoredTransfer | undefined> =>
  Id.is(id) ? reads.transfers.get(id) : undefined

const findBatch = async ({ reads }: ConsoleContext, id = ''): Promise<Batch | undefined> =>
  Id.is(id) ? reads.batches.get(id) : undefined

interface Wish {
  /** Null for what is of any account, which needs a permission on all. */
  readonly accountIds: readonly (string | null | undefined)[]
  readonly permissions: Person['permissions']
  readonly permission: Permission
}

function permitted<T>(found: T | undefined, { accountIds, permissions, permission }: Wish): T {
  const isCovered = (accounts: Accounts) =>
    accountIds.every((id) => (id === null || id === undefined ? accounts === 'all' : covers(accounts, id)))
  if (found === undefined || !isCovered(permissions.read)) throw notFound()
  if (!isCovered(permissions[permission])) throw forbidden(permission, 'on this account')
  return found
}
