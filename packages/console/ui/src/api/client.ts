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

/** Most times that a reading is asked for while the server says when to ask again. */
const mostAsked = 120

/** Asks again as long as the server says when: a figure of very many transfers is being counted. */
async function send(
  method: string,
  path: string,
  ask: { readonly body?: unknown; readonly signal?: AbortSignal | undefined },
): Promise<unknown> {
  for (let asked = 1; ; asked += 1) {
    const answer = await sendOnce(method, path, ask)
    if (!(answer instanceof Wait)) return answer
    if (asked === mostAsked) throw answer.refusal
    await new Promise((resolve) => setTimeout(resolve, answer.afterMs))
    ask.signal?.throwIfAborted()
  }
}

/** When to ask again, in milliseconds, and what was said. */
class Wait {
  readonly afterMs: number
  readonly refusal: Refusal

  constructor(afterMs: number, refusal: Refusal) {
    this.afterMs = afterMs
    this.refusal = refusal
  }
}

async function sendOnce(
  method: string,
  path: string,
  { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal | undefined },
): Promise<unknown> {
  let response: Response
  let text: string
  try {
    response = await fetch(`${basePath}/api${path}`, {
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
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Unanswered(
      method === 'GET'
        ? 'The server does not answer.'
        : 'The server did not answer. The action may have been done: read it again before you repeat it.',
    )
  }
  const json = readJson(text)
  if (response.ok && json !== undefined) return json
  const afterSeconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  if (isProblem(json) && method === 'GET' && response.status === 503 && afterSeconds > 0)
    return new Wait(afterSeconds * 1_000, new Refusal(json))
  if (isProblem(json)) throw new Refusal(json)
  throw new Unanswered(`The server answered with ${response.status}, and not as the console does.`)
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
