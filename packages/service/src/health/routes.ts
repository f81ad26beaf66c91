import type { RouteModule } from '../http/request.ts'
import { createReadiness } from './readiness.ts'

/**
 * Mounts `GET /health`, which answers 200 while the process is alive, and `GET /ready`, which answers 200 when it is ready and 503
 * while the database, its tables, the engine or the encryption keys are not. Use the first as liveness probe and the second as readiness probe.
 */
export const healthRoutes: RouteModule = (app, context) => {
  const readReadiness = createReadiness(context)
  app.get('/health', (c) => c.json({ healthy: true }))
  app.get('/ready', async (c) => {
    const readiness = await readReadiness()
    return c.json(readiness, readiness.ready ? 200 : 503, { 'cache-control': 'no-store' })
  })
}
