import { type Environment, readProbePort } from './settings.ts'

/** Asks the process in the same container whether it is alive: the health check of an image without curl. */
export async function check(env: Environment, path = '/live'): Promise<boolean> {
  const host = env['HOST'] === '0.0.0.0' ? '127.0.0.1' : env['HOST'] || '127.0.0.1'
  try {
    const response = await fetch(`http://${host}:${readProbePort(env)}${path}`, { signal: AbortSignal.timeout(4_000) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
