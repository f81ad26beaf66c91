import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packagesFolder = fileURLToPath(new URL('../../packages/', import.meta.url))

/** File names of the numbered migrations of a package of this workspace, in order. */
export async function listNumbered(name: 'adapters-pg'): Promise<readonly string[]> {
  return (await readdir(sqlOf(name))).filter((file) => /^\d.*\.sql$/.test(file)).sort()
}

/** The folder of a package's SQL in this workspace. */
export function sqlOf(name: 'adapters-pg' | 'service'): string {
  return join(packagesFolder, name, name === 'service' ? 'sql' : 'migrations')
}
