import { host } from './host.ts'

/** Next calls this once when a server starts. On a platform that has no long-lived servers, a worker process does it. */
export async function register(): Promise<void> {
  await host().engine.start()
}
