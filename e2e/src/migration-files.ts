import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** SQL that makes the functions as the code of a numbered migration left them in the schema `outlay`, without their bodies. */
export function readFunctions(migration: string): Promise<string> {
  return readFile(fileURLToPath(new URL(`./earlier-functions/${migration}.sql`, import.meta.url)), 'utf8')
}
