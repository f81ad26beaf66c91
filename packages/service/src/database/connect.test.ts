import { createServer } from 'node:net'
import { Pool, type PoolClient } from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { connectWithin } from './connect.ts'
import { isConnectionLost } from './connection-lost.ts'

/** A server that takes connections and never answers. */
async function silentServer(): Promise<string> {
  const sockets = new Set<{ destroy(): void }>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return `postgres://somebody@127.0.0.1:${(server.address() as { port: number }).port}/none`
}

it('a server that takes connections and never answers is a database that is not reached', async () => {
  const pool = new Pool({ connectionString: await silentServer() })
  const error = await connectWithin(pool, 20).catch((thrown: unknown) => thrown)
  expect(isConnectionLost(error)).toBe(true)
})

it('waits as long as the pool says', async () => {
  const pool = new Pool({ connectionString: await silentServer(), connectionTimeoutMillis: 20 })
  expect(isConnectionLost(await connectWithin(pool).catch((thrown: unknown) => thrown))).toBe(true)
})

it('a client that comes too late goes back to the pool', async () => {
  const coming = Promise.withResolvers<PoolClient>()
  const pool = { options: {}, connect: () => coming.promise } as unknown as Pool
  await expect(connectWithin(pool, 1)).rejects.toThrow('timeout')
  const release = vi.fn()
  coming.resolve({ release, getTransactionStatus: () => 'I' } as unknown as PoolClient)
  await vi.waitFor(() => expect(release).toHaveBeenCalledExactlyOnceWith(), { timeout: 60_000 })
})
