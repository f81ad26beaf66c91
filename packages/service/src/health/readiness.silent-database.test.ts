import { createServer } from 'node:net'
import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { testContext, testService } from '../../test/service.ts'

const sockets: { destroy(): void }[] = []
const server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

it('says that it is not ready while the database takes connections and never answers', async () => {
  const { port } = server.address() as { port: number }
  const pool = new Pool({ connectionString: `postgres://somebody@127.0.0.1:${port}/none`, max: 2 })
  const context = testContext({ pool, isRunning: () => true, readinessCacheMs: 0, readinessTimeoutMs: 20 })
  const service = testService(context)
  for (let probes = 0; probes < 10; probes += 1) {
    const { status, json } = await service.call('/ready')
    expect([status, json]).toEqual([503, { ready: false, database: false, migrated: false, engine: true, keys: false }])
  }
  expect((await service.call('/health')).status).toBe(200)
})
