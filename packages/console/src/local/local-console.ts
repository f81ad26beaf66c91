import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkNames, checkNumbers } from '@outlay/core/adapter'
import { z } from 'zod'
import type { Permissions } from '../authorization/authorization.ts'
import { type ConsoleOptions, createConsole } from '../console.ts'
import { commonHeaders } from '../http/answer.ts'
import { readJson } from '../http/body.ts'
import { nodeListener } from '../http/node-listener.ts'
import { checkSameOrigin } from '../http/same-origin.ts'
import { createLogin, type Login } from './login.ts'
import { answerLoginPage } from './login-page.ts'

/** What a console of one person on this machine is made of. */
export interface LocalConsoleOptions<Tx>
  extends Pick<ConsoleOptions<Tx>, 'engine' | 'driver' | 'schema' | 'queueSchema'> {
  /** Who uses it: the name stands in the audit. Nobody checks that it is theirs. */
  readonly actor: string
  /** Roles of the person, which policies ask for. Default: none. */
  readonly roles?: readonly string[] | undefined
  /** Allows every action. Default false: it only shows. */
  readonly acts?: boolean | undefined
  /** Default: any that is free. */
  readonly port?: number | undefined
}

/** A console that listens on 127.0.0.1. */
export interface LocalConsole {
  /** The address of its first page. */
  readonly url: string
  /** Lets one browser in, once, within ten minutes; it stays in for twelve hours. */
  readonly loginUrl: string
  /** Ends it. Requests under way are cut off. */
  close(): Promise<void>
}

const optionNames = ['engine', 'driver', 'schema', 'queueSchema', 'actor', 'roles', 'acts', 'port']

/** The address that it listens on: nobody else on the network reaches it. */
const host = '127.0.0.1'

/**
 * Serves a console alone on 127.0.0.1, for one person with the link.
 * @throws Error for an option that does not exist or is out of range, and what the server throws when the port is not free.
 */
export async function serveLocally<Tx>(options: LocalConsoleOptions<Tx>): Promise<LocalConsole> {
  checkNames(options, optionNames)
  const { actor, roles = [], acts = false, port: wanted = 0, ...rest } = options
  checkNumbers({ port: wanted }, { port: { min: 0, max: 65_535 } })
  const login = createLogin()
  const permissions: Permissions = acts
    ? { read: 'all', act: 'all', approve: 'all', configure: 'all' }
    : { read: 'all' }
  const server = createServer()
  const port = await listen(server, wanted)
  const cookie = `outlay_console_${port}`
  const admin = createConsole({
    ...rest,
    authorize: ({ headers }) =>
      login.knows(readCookie(headers.get('cookie') ?? '', cookie)) ? { actor, roles, permissions } : null,
  })
  const names = [`${host}:${port}`, `localhost:${port}`]
  server.on(
    'request',
    nodeListener(async (request) => {
      // A page of another site whose name leads to this machine has its own name here.
      if (!names.includes(request.headers.get('host') ?? '')) return plain(421, 'This console has another address.')
      const { pathname } = new URL(request.url)
      if (pathname !== '/login') return admin.fetch(request)
      if (request.method === 'GET') return answerLoginPage()
      return request.method === 'POST' ? logIn(request, login, cookie) : plain(405, 'Use GET or POST.')
    }),
  )
  const url = `http://${host}:${port}/`
  return {
    url,
    loginUrl: `${url}login#${login.token}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const listen = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port)
    })
  })

const loginBody = z.strictObject({ token: z.string().min(1).max(200) })

async function logIn(request: Request, login: Login, cookie: string): Promise<Response> {
  const session = await readToken(request).then(login.exchange, () => undefined)
  if (session === undefined) return plain(401, 'This link was used, or is too old.')
  return new Response(null, {
    status: 204,
    headers: {
      ...commonHeaders,
      'set-cookie': `${cookie}=${session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200`,
    },
  })
}

async function readToken(request: Request): Promise<string> {
  checkSameOrigin(request)
  return loginBody.parse(await readJson(request, request.signal)).token
}

/** The value of a cookie; empty where there is none. */
const readCookie = (header: string, name: string): string =>
  header
    .split(';')
    .map((pair) => pair.trim().split('='))
    .find(([one]) => one === name)?.[1] ?? ''

const plain = (status: number, text: string): Response =>
  new Response(text, { status, headers: { ...commonHeaders, 'content-type': 'text/plain; charset=utf-8' } })
