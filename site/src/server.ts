import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** A folder that is being served. */
export interface FolderServer {
  readonly url: string
  [Symbol.asyncDispose](): Promise<void>
}

/** Serves the files of a folder on 127.0.0.1, the way that hosts of static pages do; port 0 takes a free one. */
export async function serveFolder(folder: string, port: number): Promise<FolderServer> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const path = normalize(decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname))
    const answer = (status: number, file: string, body: Uint8Array | string) =>
      response
        .writeHead(status, {
          'content-type': `${types[extname(file)] ?? 'application/octet-stream'}; charset=utf-8`,
          // The name of an asset changes with its content.
          'cache-control': file.startsWith('/assets/') ? 'max-age=31536000, immutable' : 'no-cache',
        })
        .end(body)
    const body = await readFile(join(folder, path)).catch(() => undefined)
    if (body !== undefined) return answer(200, path, body)
    answer(404, '404.html', await readFile(join(folder, '404.html')).catch(() => 'Not found'))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
