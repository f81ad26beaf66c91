import type { Logger } from '@outlay/core'
import { OutlayError } from '@outlay/core'
import { z } from 'zod'
import { isStorable } from '../http/body.ts'
import { type Accounts, joinAccounts } from './scope.ts'

/** What somebody may do: see, change what is sent, approve, and change rules and limits. */
export const permissionNames = ['read', 'act', 'approve', 'configure'] as const

/** The name of a permission. */
export type Permission = (typeof permissionNames)[number]

/**
 * What a person may do, and about which accounts: `all`, or a list of ids. An absent member permits nothing. Who may act, approve or configure
 * may read the same accounts. What is about no single account needs `all`.
 */
export type Permissions = { readonly [K in Permission]?: Accounts | undefined }

/** Who sent a request, and what they may do. */
export interface Authorization {
  /** The name under which the host knows the person or program, of 1 to 255 characters. It stands in the audit. */
  readonly actor: string
  /** Roles of the person, which policies ask for. Default: none. */
  readonly roles?: readonly string[] | undefined
  readonly permissions: Permissions
}

/**
 * Says who sent a request. Code of the host: it reads a session or a token of the headers. Null for somebody that it does not know. The request
 * has no body. The signal fires when the time is over, or when the client has gone.
 */
export type Authorize = (request: Request, signal: AbortSignal) => Authorization | null | Promise<Authorization | null>

/** A person whose permissions are complete. */
export interface Person {
  readonly actor: string
  readonly roles: readonly string[]
  readonly permissions: Readonly<Record<Permission, Accounts>>
}

const name = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => text === text.trim() && isStorable(text) && !/\p{Cc}/u.test(text), 'is no name')
const accounts = z.union([z.literal('all'), z.array(name).max(10_000)])

const authorizationSchema = z.strictObject({
  actor: name,
  roles: z.array(name).max(1_000).optional(),
  permissions: z.strictObject({
    read: accounts.optional(),
    act: accounts.optional(),
    approve: accounts.optional(),
    configure: accounts.optional(),
  }),
})

/** How the host is asked. */
export interface AuthorizationOptions {
  readonly authorize: Authorize
  readonly timeoutMs: number
  readonly logger: Logger
}

/**
 * Makes the question who sent a request. Whatever the host's code does but answer as it should, nobody passes.
 * @throws OutlayError `unauthenticated` for nobody, `service_unavailable` when the host's code throws, hangs or answers something else
 */
export function createAuthorization({
  authorize,
  timeoutMs,
  logger,
}: AuthorizationOptions): (request: Request) => Promise<Person> {
  const unavailable = (why: string, fields: Readonly<Record<string, unknown>> = {}) => {
    logger.error({ ...fields, why }, 'The authorize function of the console failed; nobody was let in.')
    return new OutlayError('service_unavailable', 'Who sent this request could not be found out.')
  }
  return async (request) => {
    const { method, headers, url } = request
    let answer: unknown
    try {
      answer = await callBounded((signal) => authorize(new Request(url, { method, headers, signal }), signal), {
        timeoutMs,
        signal: request.signal,
      })
      // Members are read once: what they are at another time makes no difference.
      if (answer !== null && answer !== undefined) return readPerson(answer)
    } catch (error) {
      throw unavailable(describe(error))
    }
    throw new OutlayError('unauthenticated', 'Nobody is logged in.')
  }
}

function readPerson(answer: unknown): Person {
  const { actor, roles = [], permissions } = authorizationSchema.parse(answer)
  const { read = [], act = [], approve = [], configure = [] } = permissions
  const all = [act, approve, configure].reduce<Accounts>(joinAccounts, read)
  return { actor, roles, permissions: { read: all, act, approve, configure } }
}

/** What is wrong, without a value: members may be secrets. */
function describe(error: unknown): string {
  try {
    if (error instanceof z.ZodError)
      return error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
    return error instanceof Error ? `${error.name}: ${error.message}` : 'something that is no Error was thrown'
  } catch {
    return 'something that cannot be read was thrown'
  }
}

/** Calls code of the host, and waits no longer than the limit, or until the caller has gone. */
function callBounded<T>(
  call: (signal: AbortSignal) => T | Promise<T>,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = new AbortController()
    const end = (settle: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    const giveUp = (why: string) =>
      end(() => {
        abort.abort()
        reject(new Error(why))
      })
    const onAbort = () => giveUp('the client has gone')
    const timer = setTimeout(() => giveUp(`no answer within ${timeoutMs} ms`), timeoutMs)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    // In a promise of its own, so that what it throws at once is caught, too.
    new Promise<T>((answer) => answer(call(abort.signal))).then(
      (value) => end(() => resolve(value)),
      (error: unknown) => end(() => reject(error)),
    )
  })
}
