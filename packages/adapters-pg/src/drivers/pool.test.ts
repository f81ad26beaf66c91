import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { poolDriver } from './pool.ts'

test('a listening connection that cannot be opened is reported by the rejection alone', async () => {
  // No server listens on port 1.
  const pool = new Pool({ host: '127.0.0.1', port: 1 })
  let lost = 0
  const opening = poolDriver(pool).listen?.({ channel: 'wake', onNotification() {}, onLost: () => lost++ })
  await expect(opening).rejects.toThrow()
  // The end of the connection comes some turns of the event loop after the refusal.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(lost).toBe(0)
  await pool.end()
})
