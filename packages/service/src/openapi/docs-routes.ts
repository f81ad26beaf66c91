import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { OutlayError } from '@outlay/core'
import { routesOf } from '../app.ts'
import type { RouteModule, ServiceApp, ServiceRequest } from '../http/request.ts'
import type { Operation } from '../schema/operation.ts'
import { writeOpenApi } from './openapi.ts'
import { operationsOf } from './operations.ts'

/**
 * Mounts `GET /openapi.json`, the OpenAPI 3.1 document of the mounted routes, and `GET /docs`, a page that displays it.
 * The page uses `swagger-ui-dist` and loads it on the first request. Without that package, `/docs` is not found.
 * The page loads nothing from another origin; its content security policy forbids it.
 */
export const docsRoutes: RouteModule = (app, { dialect, bankLinkAliases }) => {
  let document: string | undefined
  app.get('/openapi.json', (c) => {
    document ??= JSON.stringify(
      writeOpenApi({ operations: mounted(app, operationsOf(dialect ?? 'specification', bankLinkAliases)) }),
    )
    return c.body(document, 200, { 'content-type': 'application/json', 'cache-control': 'no-cache' })
  })
  app.get('/docs', async (c) => {
    await readAsset('swagger-ui.css')
    // Relative links need the directory, because the service may be mounted anywhere.
    const base = new URL(c.req.url).pathname.endsWith('/') ? '' : 'docs/'
    return c.body(page(base), 200, { ...headers, 'content-type': 'text/html; charset=utf-8' })
  })
  app.get('/docs/:asset', (c) => answerAsset(c, c.req.param('asset')))
}

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const mediaTypes: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

const page = (base: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Outlay API</title>
<link rel="icon" type="image/png" href="${base}favicon-32x32.png">
<link rel="stylesheet" href="${base}swagger-ui.css">
</head>
<body>
<div id="page" data-document="${base === '' ? '../' : ''}openapi.json"></div>
<script src="${base}swagger-ui-bundle.js"></script>
<script src="${base}start.js"></script>
</body>
</html>
`

// No validator: it would send the document to a third party.
const start = `const page = document.getElementById('page')
SwaggerUIBundle({
  domNode: page,
  url: new URL(page.dataset.document, location.href).href,
  validatorUrl: null,
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  filter: true,
})
`

async function answerAsset(c: ServiceRequest, name: string): Promise<Response> {
  const cached = { ...headers, 'cache-control': 'public, max-age=3600' }
  if (name === 'start.js') return c.body(start, 200, { ...cached, 'content-type': 'text/javascript; charset=utf-8' })
  const type = mediaTypes[name]
  if (type === undefined) throw new OutlayError('not_found', 'Nothing exists at this path.')
  return c.body(await readAsset(name), 200, { ...cached, 'content-type': type })
}

/** @throws OutlayError `not_found` where the page's package is not installed. */
async function readAsset(name: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`)))
  } catch (cause) {
    throw new OutlayError('not_found', 'Install swagger-ui-dist to read the document here.', { cause })
  }
}

function mounted(app: ServiceApp, operations: readonly Operation[]) {
  const routes = new Set(routesOf(app).map(({ method, path }) => `${method} ${path}`))
  return operations.filter((one) => routes.has(`${one.method.toUpperCase()} ${one.path}`))
}
