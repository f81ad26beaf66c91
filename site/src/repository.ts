import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Absolute path of the repository. */
export const root = join(import.meta.dirname, '../..')

interface Manifest {
  readonly repository: { readonly url: string }
}

/** Where the repository is published, without `git+` and `.git`. The root `package.json` says it once for all. */
export function readRepositoryUrl(): string {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  return repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
}

/** Files that git tracks or would add, relative to the repository. */
export function listFiles(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  return listed.split('\0').filter((path) => path !== '')
}
