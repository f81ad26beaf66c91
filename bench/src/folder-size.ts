import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The contents of a folder. */
export interface FolderSize {
  /** Length of all files together, in bytes. */
  readonly bytes: number
  /** Packages with their own manifest below a `node_modules`. */
  readonly packages: number
}

/** Counts a folder's contents, subfolders included; symbolic links are skipped. */
export function countFolder(folder: string): FolderSize {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  const files = entries.filter((entry) => entry.isFile())
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  const isPackage = /node_modules\/(@[^/]+\/)?[^/@.][^/]*$/
  const packages = files.filter(({ parentPath, name }) => name === 'package.json' && isPackage.test(parentPath)).length
  return { bytes, packages }
}
