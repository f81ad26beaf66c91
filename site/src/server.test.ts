import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FolderServer, serveFolder } from './server.ts'

let folder: string
let server: FolderServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outlay-server-'))
  await mkdir(join(folder, 'pages/guides'), { recursive: true })
  await writeFile(join(folder, 'secret.html'), 'secret')
  for (const name of ['index', '404', 'guides/index', 'guides/a']) {
    await writeFile(join(folder, `pages/${name}.html`), `this is ${name}`)
  }
  server = await serveFolder(join(folder, 'pages'), 0)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** Asks for a path as it is written, which `fetch` would tidy up before. */
const get = (path: string): Promise<readonly [number | undefined, string]> =>
  new Promise((resolve, reject) => {
    const asked = request(server.url, { path }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve([response.statusCode, text]))
    })
    asked.once('error', reject).end()
  })

it.each([
  ['/', 200, 'this is index'],
  ['/guides/', 200, 'this is guides/index'],
  ['/guides/a.html?x=1', 200, 'this is guides/a'],
  ['/guides/a', 200, 'this is guides/a'],
  ['/guides/b.html', 404, 'this is 404'],
  ['/../secret.html', 404, 'this is 404'],
  ['/%2e%2e%2fsecret.html', 404, 'this is 404'],
  ['/%E0%A4%A', 404, 'this is 404'],
])('%s answers %i with "%s"', async (path, status, text) => {
  expect(await get(path)).toEqual([status, text])
})
