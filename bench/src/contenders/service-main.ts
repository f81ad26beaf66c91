/**
 * The service as a separate process, on a database that a sandbox has seeded. Reads DATABASE_URL, ENCRYPTION_KEY (hex) and
 * ENGINE: `on`, or `off` for a process that answers and leaves the transfers to others.
 */
import { createService } from '@outlay/service'
import { Pool } from 'pg'
import { poolSize, requireEnv, serveProcess, serviceRole } from '../http-process.ts'

// An ordinary role, as in production: row-level security binds no superuser, and so would cost nothing.
const options = `-c role=${serviceRole}`
const pool = new Pool({ connectionString: requireEnv('DATABASE_URL'), options, max: poolSize, idleTimeoutMillis: 0 })
const service = createService({
  pool,
  rails: 'simulated',
  encryptionKey: Buffer.from(requireEnv('ENCRYPTION_KEY'), 'hex'),
  // The limit of a client's rate is high; the bucket is still checked.
  rateLimit: { perSecond: 1_000_000, burst: 1_000_000 },
})
await serveProcess(pool, service.fetch, async () => {
  await service.stop()
  await pool.end()
})
if (requireEnv('ENGINE') === 'on') await service.start()
