import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** What a folder holds. */
export interface FolderSize {
  /** Length of all files together, in bytes. */
  readonly bytes: number
  /** Packages with a manifest of their own below a `node_modules`, as installers lay them out. */
  readonly packages: number
}

/** Counts what a folder holds, in all its folders; links are not followed. */
export function countFolder(folder: string): FolderSize {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  const files = entries.filter((entry) => entry.isFile())
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  const isPackage = /node_modules\/(@[^/]+\/)?[^/@.][^/]*$/
  const packages = files.filter(({ parentPath, name }) => name === 'package.json' && isPackage.test(parentPath)).length
  return { bytes, packages }
}
