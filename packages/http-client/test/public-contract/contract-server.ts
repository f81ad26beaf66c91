import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as answers from './answers.ts'
import { type Operation, operations } from './operations.ts'

/** What the server answers once, in place of its example. */
export interface Override {
  readonly status: number
  readonly body: unknown
}

/** A request that keeps to the contract. */
export interface Accepted {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

/** What the server answers. */
interface Answered extends Override {
  readonly headers?: Readonly<Record<string, string>>
}

/** The answer to a request for a token. */
const grant: Answered = { status: 200, body: { access_token: 'token-1', token_type: 'bearer', expires_in: 3600 } }

/** An HTTP server that follows the public contract to the letter, and shares nothing with the client. */
export interface ContractServer {
  readonly url: string
  /** What was wrong with the requests so far, one sentence a request. */
  readonly violations: string[]
  /** Answers the requests after this one by the other document, where the two differ. */
  answerBy(document: 'published' | 'own'): void
  /** Answers the next requests so, in order. */
  override(...answers: readonly Override[]): void
  /** Answers requests that keep to the contract by a function, and by the examples where it returns nothing. */
  answerWith(answer: (request: Accepted) => Override | undefined): void
  close(): Promise<void>
}

interface Problem {
  readonly status: number
  readonly code: string
  readonly detail: string
}

interface Request {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

const problem = (status: number, code: string, detail: string): Problem => ({ status, code, detail })

/** Bodies of errors differ by status. */
const writeProblem = ({ status, code, detail }: Problem): unknown =>
  [401, 403, 422].includes(status)
    ? { errors: [{ code, status: String(status), title: code, detail }] }
    : { type: 'error', code, detail, status, values: [] }

const pathPattern = ({ path }: Operation): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[a-zA-Z0-9-]+')}$`)

const findOperation = ({ method, url }: Request): Operation | Problem => {
  const atPath = operations.filter((operation) => pathPattern(operation).test(url.pathname))
  if (atPath.length === 0) return problem(404, 'not_found', `there is no ${url.pathname}`)
  return (
    atPath.find((operation) => operation.method === method) ??
    problem(405, 'method_not_allowed', `there is no ${method} ${url.pathname}`)
  )
}

const parse = (body: string): unknown => (body === '' ? undefined : JSON.parse(body))

const checkRequest = (operation: Operation, { headers, url, body }: Request): Problem | undefined => {
  if (!/^Bearer .+$/.test(headers.authorization ?? '')) return problem(401, 'unauthorized', 'no token')
  const key = headers['idempotency-key']
  if (operation.key && key === undefined) return problem(400, 'idempotency_key_missing', 'no idempotency key')
  if (!operation.key && key !== undefined) return problem(400, 'bad_request', 'an idempotency key on no create')
  const query = operation.query.safeParse(Object.fromEntries(url.searchParams))
  if (!query.success) return problem(400, 'bad_request', query.error.message)
  if (operation.body === undefined) return body === '' ? undefined : problem(400, 'bad_request', 'a body')
  const parsed = operation.body.safeParse(parse(body))
  return parsed.success ? undefined : problem(422, 'validation_error', parsed.error.message)
}

const readBody = async (incoming: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** The example of a document. An example that the contract does not allow is a mistake of the server. */
const chooseAnswer = (operation: Operation, document: 'published' | 'own') => {
  const [published, own = published] = operation.answers
  const { status, schema, body, headers = {} } = document === 'own' ? own : published
  return { status, body: schema.parse(body), headers }
}

const listen = (server: Server): Promise<AddressInfo> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address() as AddressInfo)))

/** Starts the server on a free port of the loopback interface. */
export async function startContractServer(): Promise<ContractServer> {
  const violations: string[] = []
  const overrides: Override[] = []
  let document: 'published' | 'own' = 'published'
  let answerAccepted: (request: Accepted) => Override | undefined = () => undefined
  const answer = (request: Request): Answered => {
    const operation = findOperation(request)
    const wrong = 'method' in operation ? checkRequest(operation, request) : operation
    if (wrong !== undefined) {
      violations.push(`${request.method} ${request.url.pathname}: ${wrong.detail}`)
      return { status: wrong.status, body: answers.error.parse(writeProblem(wrong)) }
    }
    const { method, url, body } = request
    const given = overrides.shift() ?? answerAccepted({ method, path: url.pathname, body: parse(body) })
    return given ?? chooseAnswer(operation as Operation, document)
  }
  const server = createServer(async (incoming, response) => {
    const url = new URL(incoming.url ?? '', 'http://contract')
    const request = { method: incoming.method ?? '', url, headers: incoming.headers, body: await readBody(incoming) }
    const { status, body, headers = {} } = url.pathname === '/oauth2/token' ? grant : answer(request)
    const text = body === undefined ? '' : JSON.stringify(body)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  })
  const { port } = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    violations,
    answerBy: (next) => {
      document = next
    },
    override: (...next) => {
      overrides.push(...next)
    },
    answerWith: (next) => {
      answerAccepted = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
