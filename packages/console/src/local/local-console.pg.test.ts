import { request } from 'node:http'
import { runOutlay } from '@outlay/cli'
import { afterEach, describe, expect, it } from 'vitest'
import { consoleHost } from '../../test/host.ts'
import { type LocalConsole, type LocalConsoleOptions, serveLocally } from './local-console.ts'

describe('a console of one person', async () => {
  const host = await consoleHost()
  const { engine, driver, enqueue } = host
  const running: LocalConsole[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.close()))
  })
  const serve = async (options: Partial<LocalConsoleOptions<never>> = {}) => {
    const local = await serveLocally({ engine, driver, actor: 'olga', ...(options as object) })
    running.push(local)
    return local
  }
  const logIn = ({ url, loginUrl }: LocalConsole, token = loginUrl.split('#')[1]) =>
    fetch(`${url}login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ token }),
    })
  const cookieOf = (answer: Response) => (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const hold = (url: string, id: string, cookie: string) =>
    fetch(`${url}api/transfers/${id}/hold`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', 'x-outlay-console': 'test' },
      body: JSON.stringify({ reason: 'it is odd' }),
    })

  it('lets one browser in by its link, and only shows', async () => {
    const { id } = await enqueue()
    const local = await serve()
    const { url } = local
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
    expect((await fetch(`${url}api/me`)).status).toBe(401)
    const page = await fetch(`${url}login`)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect((await logIn(local, 'wrong')).status).toBe(401)
    const first = await logIn(local)
    expect(first.status).toBe(204)
    expect(first.headers.get('set-cookie')).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/)
    expect((await logIn(local)).status).toBe(401)
    const cookie = cookieOf(first)
    const me = await fetch(`${url}api/me`, { headers: { cookie: `other=1; ${cookie}` } })
    expect(await me.json()).toMatchObject({ actor: 'olga', permissions: { read: 'all', act: [], configure: [] } })
    expect((await hold(url, id, cookie)).status).toBe(403)
    expect((await fetch(`${url}api/me`, { headers: { cookie: `${cookie}x` } })).status).toBe(401)
  })

  it('acts under the name of its person where it may', async () => {
    const { id } = await enqueue()
    const local = await serve({ acts: true, roles: ['finance'] })
    const cookie = cookieOf(await logIn(local))
    expect((await hold(local.url, id, cookie)).status).toBe(200)
    expect(await engine.audit.list()).toMatchObject([{ command: 'transfers.hold', actor: 'olga' }])
  })

  it('answers under its own address alone, and logs in for no page of another site', async () => {
    const local = await serve()
    const { port } = new URL(local.url)
    const status = await new Promise((resolve, reject) => {
      const headers = { host: `evil.example:${port}` }
      request({ host: '127.0.0.1', port, path: '/login', headers }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
        .once('error', reject)
        .end()
    })
    expect(status).toBe(421)
    const foreign = await fetch(`${local.url}login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' },
      body: JSON.stringify({ token: local.loginUrl.split('#')[1] }),
    })
    expect(foreign.status).toBe(401)
    expect((await logIn(local)).status).toBe(204)
    await expect(serve({ port: Number(port) })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  /** Runs the command until it has printed its link, gives that to `visit`, and ends it. */
  const run = async (args: readonly string[], visit: (loginUrl: string) => Promise<void> = async () => undefined) => {
    const abort = new AbortController()
    const printed = Promise.withResolvers<string>()
    const errors: string[] = []
    const { connectionString } = host.pool.options
    const code = runOutlay(['console', '--json', ...args], {
      env: { DATABASE_URL: connectionString },
      stdout: printed.resolve,
      stderr: (text) => void errors.push(text),
      signal: abort.signal,
      interactive: false,
    })
    const first = await Promise.race([code, printed.promise])
    if (typeof first === 'string') await visit((JSON.parse(first) as { loginUrl: string }).loginUrl)
    abort.abort()
    return { code: await code, errors: errors.join('') }
  }

  it('is a command, which ends with its signal', async () => {
    // As where a host has installed both packages: this one is found from where the command is called.
    const before = process.cwd()
    process.chdir(new URL('../..', import.meta.url).pathname)
    try {
      let found: unknown
      const { code } = await run(['--act', '--actor', 'olga'], async (loginUrl) => {
        const local = { url: new URL('/', loginUrl).href, loginUrl } as LocalConsole
        const cookie = cookieOf(await logIn(local))
        found = await (await fetch(`${local.url}api/me`, { headers: { cookie } })).json()
      })
      expect(code).toBe(0)
      expect(found).toMatchObject({ actor: 'olga', permissions: { act: 'all' } })
    } finally {
      process.chdir(before)
    }
  })

  it.each([[['--act']], [['--act', '--read-only', '--actor', 'olga']], [['--role', 'finance']], [['--port', '0']]])(
    'refuses %j before anything is served',
    async (args) => {
      expect(await run(args)).toMatchObject({ code: 2, errors: expect.stringContaining('-') })
    },
  )
})
