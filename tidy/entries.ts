import { posix } from 'node:path'
import type { File, Finding } from './repository.ts'
import { parse } from './syntax.ts'

/** What every entry imports first, so that an unsupported Node is refused in a sentence before it meets what it cannot run. */
const guard = '@outlay/core/node-version'

/** An entry in a manifest: for `import` alone, or for `import` and `require`. */
type Target = string | { readonly types?: string; readonly import?: { readonly types: string } }

/** Finds the entries of a published package whose first import is not the check of Node's version. */
export const findUnguardedEntries = (manifest: File, files: readonly File[]): readonly Finding[] => {
  const { exports = {} } = JSON.parse(manifest.text) as { readonly exports?: Readonly<Record<string, Target>> }
  const folder = posix.dirname(manifest.path)
  return Object.values(exports).flatMap((target) => {
    const types = typeof target === 'string' ? undefined : (target.import?.types ?? target.types)
    if (types === undefined) return []
    const path = posix.join(folder, types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'))
    const source = files.find((file) => file.path === path)
    if (source === undefined) return [`${manifest.path}: ${types} has no source`]
    const [first] = parse(source).specifiers
    const isGuard = path.endsWith('/node-version.ts') || first === guard || first === './node-version.ts'
    return isGuard ? [] : [`${path}: its first import is ${first} instead of ${guard}`]
  })
}
