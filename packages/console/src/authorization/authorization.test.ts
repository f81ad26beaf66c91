import { recordingLogger } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type Authorize, createAuthorization } from './authorization.ts'

const request = (signal?: AbortSignal) =>
  new Request('http://localhost/api/transfers', {
    method: 'POST',
    headers: { cookie: 'session=1' },
    body: '{}',
    signal: signal ?? null,
  })

/** Asks with code of a host that may answer anything. */
function ask(authorize: unknown, asked = request()) {
  const logger = recordingLogger()
  const answer = createAuthorization({ authorize: authorize as Authorize, timeoutMs: 50, logger })(asked)
  return { answer, logger }
}

describe('the question who sent a request', () => {
  it('gives the method, the address and the headers to the host, and no body', async () => {
    const asked: unknown[] = []
    const { answer } = ask(async (given: Request) => {
      asked.push(given.method, new URL(given.url).pathname, given.headers.get('cookie'), await given.text())
      return { actor: 'ada', permissions: { act: ['acme'], read: ['bolt'] } }
    })
    expect(await answer).toEqual({
      ...{ actor: 'ada', roles: [] },
      permissions: { read: ['bolt', 'acme'], act: ['acme'], approve: [], configure: [] },
    })
    expect(asked).toEqual(['POST', '/api/transfers', 'session=1', ''])
  })

  it.each([[null], [undefined]])('is answered with 401 for %s', async (nobody) => {
    await expect(ask(() => nobody).answer).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  const proxy = new Proxy(
    {},
    {
      get: () => {
        throw new Error('no')
      },
    },
  )
  it.each<readonly [string, unknown]>([
    ['true', true],
    ['an empty object', {}],
    ['an actor without permissions', { actor: 'ada' }],
    ['a misspelt permission', { actor: 'ada', permissions: { read: 'all', approves: 'all' } }],
    ['a misspelt member', { actor: 'ada', role: 'a', permissions: {} }],
    ['an account that is no text', { actor: 'ada', permissions: { read: [7] } }],
    ['a permission that is true', { actor: 'ada', permissions: { read: true } }],
    ['a text other than all', { actor: 'ada', permissions: { read: 'ALL' } }],
    ['an empty actor', { actor: '', permissions: { read: 'all' } }],
    ['an actor with spaces', { actor: ' ada', permissions: { read: 'all' } }],
    ['an actor with a line break', { actor: 'a\nb', permissions: { read: 'all' } }],
    ['roles that are no list', { actor: 'ada', roles: 'finance', permissions: {} }],
    ['members that throw', proxy],
    ['a list', []],
  ])('lets nobody in for %s, and the log says why', async (_, answered) => {
    const { answer, logger } = ask(() => answered)
    await expect(answer).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(logger.entries).toMatchObject([{ level: 'error', fields: { why: expect.stringMatching(/./) } }])
  })

  it('lets nobody in when the host throws, at once or later', async () => {
    const thrown = () => {
      throw new Error('the session store is down')
    }
    await expect(ask(thrown).answer).rejects.toMatchObject({ code: 'service_unavailable' })
    await expect(ask(async () => thrown()).answer).rejects.toMatchObject({ code: 'service_unavailable' })
    await expect(ask(() => Promise.reject(undefined)).answer).rejects.toMatchObject({ code: 'service_unavailable' })
  })

  it('lets nobody in when the host hangs, and fires its signal', async () => {
    const fired = Promise.withResolvers<void>()
    const hang = (_: Request, signal: AbortSignal) => {
      signal.addEventListener('abort', () => fired.resolve())
      return new Promise(() => undefined)
    }
    await expect(ask(hang).answer).rejects.toMatchObject({ code: 'service_unavailable' })
    await fired.promise
  })

  it('ends when the client has gone', async () => {
    const gone = new AbortController()
    const { answer } = ask(() => {
      gone.abort()
      return new Promise(() => undefined)
    }, request(gone.signal))
    await expect(answer).rejects.toMatchObject({ code: 'service_unavailable' })
  })

  it('takes what the host said then, whatever becomes of it', async () => {
    const read = ['acme']
    const person = await ask(() => ({ actor: 'ada', permissions: { read } })).answer
    read.push('other')
    expect(person.permissions.read).toEqual(['acme'])
  })
})
