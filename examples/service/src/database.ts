import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { startPostgres } from '@outlay/testing'
import type { Options } from './options.ts'

/** A running database. */
export interface Database {
  readonly url: string
  /** Stops the embedded server. The data stay. */
  stop(): Promise<void>
}

const name = 'outlay_service'

/** Starts the embedded PostgreSQL on its data directory, or uses the given database. */
export async function openDatabase({ dataDir, databaseUrl }: Options): Promise<Database> {
  if (databaseUrl !== undefined) return { url: databaseUrl, stop: async () => {} }
  // Open to other users: as root, the server runs as another user, who needs access.
  await mkdir(dataDir, { recursive: true, mode: 0o755 })
  const postgres = await startPostgres({ provider: 'embedded', dataDir: join(dataDir, 'postgres') })
  try {
    return { url: await findOrCreate(postgres), stop: () => postgres.stop() }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

async function findOrCreate(postgres: Awaited<ReturnType<typeof startPostgres>>): Promise<string> {
  try {
    return await postgres.createDatabase(name)
  } catch (error) {
    const duplicate = error instanceof Error && 'code' in error && error.code === '42P04'
    if (!duplicate) throw error
    const url = new URL(postgres.url)
    url.pathname = `/${name}`
    return url.href
  }
}
