import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Step } from './plan.ts'

/** A webhook on its way to an engine. */
export interface Letter {
  readonly accountId: string
  readonly body: Buffer
  readonly headers: IncomingHttpHeaders
}

type Mischief = Extract<Step, { readonly do: 'webhooks' }>['mischief']

/** Takes webhooks from the service, does mischief, and hands them to whoever reads them. */
export interface Mailroom {
  /** Where the service sends the webhooks of an account. */
  urlOf(accountId: string): string
  mischief: Mischief
  /** Reads one letter; answers with the status for the service. */
  reader: (letter: Letter) => Promise<number>
  /** Hands out what was kept back, the newest first. */
  handOutLate(): Promise<void>
  stop(): Promise<void>
}

/** Starts a mailroom on 127.0.0.1. */
export async function startMailroom(): Promise<Mailroom> {
  const late: Letter[] = []
  const nobody: Mailroom['reader'] = async () => 503
  const server = createServer(async (request, response) => {
    const accountId = request.url?.slice(1) ?? ''
    const letter = { accountId, body: await buffer(request), headers: request.headers }
    response.writeHead(await take(letter).catch(() => 500)).end()
  })
  const take = async (letter: Letter): Promise<number> => {
    switch (mailroom.mischief) {
      case 'lost':
        return 500
      case 'late':
        late.push(letter)
        return 200
      case 'twice':
        await mailroom.reader(letter)
        return mailroom.reader(letter)
      case 'forged':
        await mailroom.reader(forge(letter))
        return mailroom.reader(letter)
      case 'none':
        return mailroom.reader(letter)
    }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const mailroom: Mailroom = {
    urlOf: (accountId) => `http://127.0.0.1:${port}/${accountId}`,
    mischief: 'none',
    reader: nobody,
    async handOutLate() {
      for (let letter = late.pop(); letter !== undefined; letter = late.pop())
        await mailroom.reader(letter).catch(() => 500)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return mailroom
}

/** The same letter with another ending, under the old signature. */
function forge(letter: Letter): Letter {
  const text = letter.body.toString('utf8')
  const failure = '"failure":{"type":"forged","code":"forged","detail":"forged","retriable":false}'
  const body = text
    .replaceAll(/transfer\.(created|processing|completed)/g, 'transfer.failed')
    .replace(/"status":"(pending|processing|complete)"/, `"status":"failed",${failure}`)
  return { ...letter, body: Buffer.from(body) }
}
