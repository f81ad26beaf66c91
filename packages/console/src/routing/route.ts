import type { Batch, StoredTransfer } from '@outlay/core'
import type { z } from 'zod'
import type { Permission, Person } from '../authorization/authorization.ts'
import type { Accounts } from '../authorization/scope.ts'
import type { ConsoleContext } from '../context.ts'

/**
 * What a route is about, and with it how its permission is checked, before its handler runs:
 *
 * - `anybody`: about whoever asks; the permission is not asked for
 * - `all`: about no single account, so the permission has to be about all of them
 * - `accounts`: about the accounts of the permission, which the handler gets; with none it is refused
 * - `account`, `transfer`, `batch`: about the one in the path, which is not found unless the person may read it
 */
export interface Subjects {
  readonly anybody: undefined
  readonly all: undefined
  readonly accounts: Accounts
  readonly account: string
  readonly transfer: StoredTransfer
  readonly batch: Batch
}

/** The name of a subject. */
export type Subject = keyof Subjects

/** Parts of the document. */
export type Tag =
  | 'Transfers'
  | 'Bulk actions'
  | 'Accounts'
  | 'Batches'
  | 'Policies'
  | 'Audit'
  | 'Subscriptions'
  | 'Operations'

/** A request that may be handled. */
export interface Call<S extends Subject, Q, B> {
  readonly context: ConsoleContext
  readonly person: Person
  readonly subject: Subjects[S]
  readonly params: Readonly<Record<string, string>>
  readonly query: Q
  readonly body: B
  readonly signal: AbortSignal
}

/** One route: its place, who may use it, and what goes in and out. The document is made of it. */
export interface Route<S extends Subject = Subject, Q = unknown, B = unknown> {
  readonly id: string
  readonly tag: Tag
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below the prefix of the API; parameters begin with a colon. */
  readonly path: string
  readonly summary: string
  readonly permission: Permission
  readonly about: S
  /** Query parameters. Default: none. */
  readonly query?: z.ZodType<Q> | undefined
  /** The body. Actions have one. */
  readonly body?: z.ZodType<B> | undefined
  /** What is answered: members that it does not name are left out, whatever the handler returns. */
  readonly answer: z.ZodType
  handle(call: Call<S, Q, B>): Promise<unknown>
}

/** Makes a route, with the types of its own subject, query and body. */
export const route = <S extends Subject, Q = Readonly<Record<string, never>>, B = undefined>(
  one: Route<S, Q, B>,
): Route => one as unknown as Route
