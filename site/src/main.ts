/** Builds the site and serves it on 127.0.0.1, at the given port or a free one. */
import process from 'node:process'
import { buildSite } from './build.ts'
import { serveFolder } from './server.ts'

const server = await serveFolder(await buildSite(), Number(process.argv[2] ?? 0))
console.log(`\nThe documentation is at ${server.url} until you press Ctrl-C.`)
