import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SandboxOptions } from '@outlay/service/sandbox'

/**
 * Reads the catalog that a module exports as `catalog`; `undefined` without a module.
 * @throws Error when it exports none.
 */
export async function readCatalog(module: string | undefined): Promise<SandboxOptions['catalog']> {
  if (module === undefined) return undefined
  const { catalog } = (await import(pathToFileURL(resolve(module)).href)) as {
    readonly catalog?: SandboxOptions['catalog']
  }
  if (catalog === undefined) throw new Error(`${module} does not export a catalog.`)
  return catalog
}
