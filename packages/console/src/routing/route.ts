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
  | 'Limits'
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

/** How a route is asked. */
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** One route: its place, who may use it, and what goes in and out. The document is made of it. */
export interface Route<S extends Subject = Subject, Q = unknown, B = unknown> {
  readonly id: string
  readonly tag: Tag
  readonly method: Method
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
  /** True for what holds payments back: it does not wait for a place behind reads. */
  readonly isUrgent?: boolean | undefined
  /** The media type of a route that answers with a file. Default: JSON. */
  readonly media?: 'text/csv' | undefined
  handle(call: Call<S, Q, B>): Promise<unknown>
}

/** A route as its callers see it: what goes in and out stands in its type. */
export interface TypedRoute<M extends Method, P extends string, Q, B, A> extends Route {
  readonly method: M
  readonly path: P
  /** Known to the compiler alone. */
  readonly types: { readonly query: Q; readonly body: B; readonly answer: A }
}

/** Makes a route, with the types of its own subject, query, body and answer. */
export const route = <
  S extends Subject,
  const M extends Method,
  const P extends string,
  A extends z.ZodType,
  Q = Readonly<Record<string, never>>,
  B = undefined,
>(
  one: Route<S, Q, B> & { readonly method: M; readonly path: P; readonly answer: A },
): TypedRoute<M, P, Q, B, z.output<A>> => one as unknown as TypedRoute<M, P, Q, B, z.output<A>>
