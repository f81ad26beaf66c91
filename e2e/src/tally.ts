import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Observation, Submission, SubmitResult } from '@outlay/core'

/** A service that counts: how often it was asked for each key, and how often that had an effect. */
export interface Tally extends AsyncDisposable {
  readonly url: string
  /** Effects by account and key; anything but 1 is wrong. */
  readonly effects: ReadonlyMap<string, number>
  /** Lets everything go its way: funds are there, keys match, answers come, transfers complete. */
  relent(): void
}

/** Accounts, named for what happens to their transfers until the service relents. */
export const fates = ['swift', 'torn', 'slow', 'poor', 'mismatched', 'held', 'paused'] as const

/** Starts the service on 127.0.0.1. The answers are the gateway's own, as JSON. */
export async function startTally(): Promise<Tally> {
  const effects = new Map<string, number>()
  const remoteIds = new Map<string, string>()
  let relented = false
  let letGo: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const observe = (remoteId: string): Observation => {
    const done = relented || !remoteId.startsWith('slow')
    return { remoteId, status: done ? 'complete' : 'pending', failure: null }
  }
  const submit = async ({ accountId, idempotencyKey }: Submission): Promise<SubmitResult> => {
    if (accountId === 'held') await held
    if (!relented && accountId === 'poor') return { outcome: 'insufficient_balance', detail: 'No funds.' }
    if (!relented && accountId === 'mismatched') return { outcome: 'key_mismatch', detail: 'Another request.' }
    const key = `${accountId}:${idempotencyKey}`
    const known = remoteIds.get(key)
    const remoteId = known ?? `${accountId}-${remoteIds.size + 1}`
    if (known === undefined) {
      remoteIds.set(key, remoteId)
      effects.set(key, (effects.get(key) ?? 0) + 1)
      if (accountId === 'torn') return { outcome: 'unknown', detail: 'The answer was lost.' }
    }
    return { outcome: 'accepted', remoteId, observation: observe(remoteId) }
  }
  const answer = async (request: IncomingMessage): Promise<SubmitResult | Observation> => {
    let body = ''
    for await (const chunk of request) body += chunk
    if (request.method === 'POST') return submit(JSON.parse(body) as Submission)
    return observe(request.url?.split('/').at(-1) ?? '')
  }
  const server = createServer((request, response) => {
    answer(request).then(
      (found) => response.setHeader('content-type', 'application/json').end(JSON.stringify(found)),
      // Whoever asked was killed meanwhile.
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    effects,
    relent() {
      relented = true
      letGo()
    },
    async [Symbol.asyncDispose]() {
      letGo()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
