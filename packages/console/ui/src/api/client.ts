import type { Problem } from '../../../src/http/problem.ts'
import type { routes } from '../../../src/routes.ts'

type Typed = Extract<(typeof routes)[number], { readonly types: unknown }>

/** What each route takes and answers, by its method and path: as the routes themselves say it. */
export type Api = { [R in Typed as `${Uppercase<R['method']>} ${R['path']}`]: R['types'] }

/** A method and a path, such as `GET /transfers/:transferId`. */
export type Place = keyof Api

/** What a route answers. */
export type Answer<P extends Place> = Api[P]['answer']

type NameIn<P> = P extends `${string}:${infer N}/${infer R}`
  ? N | NameIn<`/${R}`>
  : P extends `${string}:${infer N}`
    ? N
    : never

/** What a request of a route has. */
export type Ask<P extends Place> = {
  readonly signal?: AbortSignal | undefined
  readonly query?: Partial<Api[P]['query']> | undefined
} & ([NameIn<P>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: Readonly<Record<NameIn<P>, string>> }) &
  (undefined extends Api[P]['body'] ? { readonly body?: undefined } : { readonly body: Api[P]['body'] })

/** A refusal of the API, as it said it. */
export class Refusal extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

/** The answer did not come, or cannot be read. */
class Unanswered extends Error {}

/** Path of the console at its host, without a slash at the end. */
export const basePath = new URL(document.baseURI).pathname.replace(/\/$/, '')

/** Sends one request of the API. */
export function call<P extends Place>(place: P, ask: Ask<P>): Promise<Answer<P>> {
  const [method = '', path = ''] = place.split(' ')
  const {
    params = {},
    query,
    body,
    signal,
  } = ask as {
    readonly params?: Readonly<Record<string, string>>
    readonly query?: Readonly<Record<string, unknown>>
    readonly body?: unknown
    readonly signal?: AbortSignal
  }
  const filled = path.replaceAll(/:([a-zA-Z]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  return send(method, `${filled}${writeQuery(query)}`, { body, signal }) as Promise<Answer<P>>
}

/** How often a request is sent that the limit of the person's requests refuses, how often a reading of what is being counted, and the longest pause in between, in seconds. */
const patience = { limited: 6, counting: 180, longestS: 5 }

/** How often a request may be sent that was answered so. */
const timesOf = (method: string, { code, status }: Problem): number => {
  if (code === 'rate_limited') return patience.limited
  return method === 'GET' && status === 503 ? patience.counting : 1
}

/** Sends a request. One that comes too soon is sent again when the server says: nothing was done of it. */
async function send(method: string, path: string, sent: Sent): Promise<unknown> {
  for (let times = 1; ; times += 1) {
    const { response, text } = await exchange(method, path, sent)
    const json = readJson(text)
    if (response.ok && json !== undefined) return json
    if (!isProblem(json))
      throw new Unanswered(`The server answered with ${response.status}, and not as the console does.`)
    const seconds = Number(response.headers.get('retry-after') ?? 'none')
    if (times >= timesOf(method, json) || !(seconds <= patience.longestS)) throw new Refusal(json)
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
    sent.signal?.throwIfAborted()
  }
}

/** What goes with a request. */
interface Sent {
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

async function exchange(method: string, path: string, { body, signal }: Sent) {
  try {
    const response = await fetch(`${basePath}/api${path}`, {
      method,
      credentials: 'same-origin',
      signal: signal ?? null,
      ...(method === 'GET'
        ? {}
        : {
            headers: { 'content-type': 'application/json', 'x-outlay-console': 'pages' },
            body: JSON.stringify(body ?? {}),
          }),
    })
    return { response, text: await response.text() }
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Unanswered(
      method === 'GET'
        ? 'The server does not answer.'
        : 'The server did not answer. The action may have been done: read it again before you repeat it.',
    )
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isProblem = (json: unknown): json is Problem =>
  typeof json === 'object' && json !== null && 'detail' in json && 'status' in json && 'code' in json

/** Writes a query; pairs of metadata as `metadata[name]=value`. */
export function writeQuery(query: Readonly<Record<string, unknown>> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === '') continue
    if (typeof value === 'object' && value !== null)
      for (const [key, one] of Object.entries(value)) search.append(`${name}[${key}]`, String(one))
    else search.append(name, String(value))
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}
