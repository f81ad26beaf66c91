import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** The body of an answer to a create, before and after. */
export type Rewrite = (body: string) => string

/** A server between a client and the service. */
export interface RewritingProxy extends AsyncDisposable {
  readonly url: string
}

const kept = ['authorization', 'content-type', 'idempotency-key']

/** Starts a server that passes everything on to the service, and rewrites what it answers to creates of transfers. */
export async function startRewritingProxy(target: string, rewrite: Rewrite): Promise<RewritingProxy> {
  const server = createServer(async (request, response) => {
    const method = request.method ?? 'GET'
    const path = request.url ?? '/'
    const headers = Object.fromEntries(
      kept.flatMap((name) => [[name, request.headers[name] ?? '']]).filter(([, v]) => v),
    )
    const body = method === 'GET' ? null : await buffer(request)
    const answer = await fetch(target + path, { method, headers, body })
    const text = await answer.text()
    const isCreate = method === 'POST' && path.endsWith('/transfers') && answer.ok
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    response.end(isCreate ? rewrite(text) : text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
