import { posix } from 'node:path'
import { type File, type Finding, isTest } from './repository.ts'

/** Finds tests of packages whose names do not begin with a source or a folder beside them. */
export const findStrayTests = (files: readonly File[]): readonly Finding[] => {
  const sources = files.filter((file) => !isTest(file)).map(({ path }) => path)
  const nouns = new Set(sources.flatMap((path) => [path.replace(/\.ts$/, ''), ...foldersOf(path)]))
  return files
    .filter((file) => isTest(file) && file.path.startsWith('packages/'))
    .filter(({ path }) => !isOfPackage(path) && !nouns.has(nounOf(path)))
    .map(({ path }) => `${path}: there is no ${nounOf(path)}; name the test after the source or folder that it tests`)
}

const nounOf = (path: string): string => posix.join(posix.dirname(path), posix.basename(path).split('.')[0] ?? '')

/** A test in the top folder that names no scenario may be about the whole package. */
const isOfPackage = (path: string): boolean =>
  /^packages\/[^/]+\/src\/[^/.]+(\.(property|model))?(\.pg)?\.(test|test-d)\.ts$/.test(path)

const foldersOf = (path: string): readonly string[] => {
  const folder = posix.dirname(path)
  return folder === '.' ? [] : [folder, ...foldersOf(folder)]
}
