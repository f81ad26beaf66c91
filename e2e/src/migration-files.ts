import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packagesFolder = fileURLToPath(new URL('../../packages/', import.meta.url))

/** The folder of a package's SQL in this workspace. */
export function sqlOf(name: 'adapters-pg' | 'service'): string {
  return join(packagesFolder, name, 'sql')
}

/** SQL that makes the functions as the code of a numbered migration left them in the schema `outlay`, without their bodies. */
export function readFunctions(migration: string): Promise<string> {
  return readFile(fileURLToPath(new URL(`./earlier-functions/${migration}.sql`, import.meta.url)), 'utf8')
}
