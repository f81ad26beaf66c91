import type { RouteModule } from '../http/request.ts'
import { createReadiness } from './readiness.ts'

/**
 * Mounts `GET /health`, 200 as long as the process answers, and `GET /ready`, 200 when it can do its work and 503 while
 * the database, its tables or the engine are not there. Restart a process by the first, send it requests by the second.
 */
export const healthRoutes: RouteModule = (app, context) => {
  const readReadiness = createReadiness(context)
  app.get('/health', (c) => c.json({ healthy: true }))
  app.get('/ready', async (c) => {
    const readiness = await readReadiness()
    return c.json(readiness, readiness.ready ? 200 : 503, { 'cache-control': 'no-store' })
  })
}
