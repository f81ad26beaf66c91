import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Absolute path of the repository. */
export const root = join(import.meta.dirname, '..')

/** One file of the repository. */
export interface File {
  /** Relative to the repository, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** Something that breaks a house rule: where, and what to do about it. */
export type Finding = string

const binary = /\.(png|jpg|gif|webp|ico|woff2?|pdf|tgz)$/

/** Reads every file that git tracks or would add, without deleted ones. Pictures and the like have no text. */
export const readFiles = (): readonly File[] => {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return [...new Set(listed.split('\0'))]
    .filter((path) => path !== '' && path !== 'pnpm-lock.yaml')
    .flatMap((path) => readOne(path))
}

const readOne = (path: string): readonly File[] => {
  try {
    const text = readFileSync(join(root, path), 'utf8')
    return [{ path, text: binary.test(path) ? '' : text }]
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return []
    throw error
  }
}

/** True for TypeScript that people write. */
export const isTypeScript = (file: File): boolean => /\.m?ts$/.test(file.path)

/** True for a test, of behaviour or of types. */
export const isTest = (file: File): boolean => /\.(test|test-d)\.ts$/.test(file.path)

/** True for the source of a package that is published, tests left out. */
export const isPublished = (file: File): boolean =>
  /^packages\/[^/]+\/src\//.test(file.path) && isTypeScript(file) && !isTest(file)
