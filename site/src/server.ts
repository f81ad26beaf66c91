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

/** Serves the files of a folder on 127.0.0.1, as hosts of static pages do; port 0 uses a free one. */
export async function serveFolder(folder: string, port: number): Promise<FolderServer> {
  const server = createServer(async (request, response) => {
    const path = pathOf(request.url ?? '/')
    const found = path === undefined ? undefined : await readFirst(folder, [path, `${path}.html`])
    const { file, body } = found ?? { file: '/404.html', body: undefined }
    response
      .writeHead(body === undefined ? 404 : 200, {
        'content-type': `${types[extname(file)] ?? 'application/octet-stream'}; charset=utf-8`,
        // The name of an asset changes with its content.
        'cache-control': file.startsWith('/assets/') ? 'max-age=31536000, immutable' : 'no-cache',
      })
      .end(body ?? (await readFile(join(folder, file)).catch(() => 'Not found')))
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

/** The first of these files that exists. */
async function readFirst(folder: string, files: readonly string[]) {
  for (const file of files) {
    const body = await readFile(join(folder, file)).catch(() => undefined)
    if (body !== undefined) return { file, body }
  }
  return undefined
}

/** The file for a request, within the folder; `undefined` for an address that cannot be read. */
function pathOf(url: string): string | undefined {
  try {
    const path = decodeURIComponent(new URL(url, 'http://localhost').pathname)
    return normalize(path.endsWith('/') ? `${path}index.html` : path)
  } catch {
    return undefined
  }
}
