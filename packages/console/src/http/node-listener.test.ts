import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { type FetchHandler, nodeListener } from './node-listener.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Sends bodies one after the other on one connection; gives what each was answered, and on how many connections. */
async function sendAll(handle: FetchHandler, bodies: readonly string[]) {
  let connections = 0
  const server = createServer(nodeListener(handle)).on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  ends.push(
    () => agent.destroy(),
    () => server.close(),
  )
  const { port } = server.address() as AddressInfo
  const send = (body: string) =>
    new Promise<string>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, method: 'POST', agent }, (answer) => {
        let text = `${answer.statusCode} `
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => {
          text += chunk
        })
        answer.on('end', () => resolve(text))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const answers: string[] = []
  for (const body of bodies) answers.push(await send(body))
  return { answers, connections }
}

const large = 'x'.repeat(3_000_000)

it('answers, and keeps the connection, when nobody reads a large body', async () => {
  const refuse: FetchHandler = async () => new Response('no', { status: 401 })
  expect(await sendAll(refuse, [large, large])).toEqual({ answers: ['401 no', '401 no'], connections: 1 })
})

it('answers, and keeps the connection, when a body is given up', async () => {
  const readSome: FetchHandler = async ({ body }) => {
    const reader = body?.getReader()
    const first = await reader?.read()
    await reader?.cancel()
    return new Response(String((first?.value?.byteLength ?? 0) > 0), { status: 413 })
  }
  expect(await sendAll(readSome, [large, large])).toEqual({ answers: ['413 true', '413 true'], connections: 1 })
})

it('gives a body whole, in many parts or none', async () => {
  const measure: FetchHandler = async (given) => new Response(String((await given.text()).length))
  const { answers } = await sendAll(measure, ['', 'ab', large])
  expect(answers).toEqual(['200 0', '200 2', '200 3000000'])
})

it('answers 500 without the text of what was thrown', async () => {
  const { answers } = await sendAll(() => Promise.reject(new Error('a secret')), ['a'])
  expect(answers).toEqual(['500 '])
})
