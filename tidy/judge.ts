import { posix } from 'node:path'
import { type File, type Finding, isTest, isTypeScript } from './repository.ts'
import { parse } from './syntax.ts'

/** Most lines of the judge, tests left out: it is to be read in one sitting. */
export const maxJudgeLines = 1_000

/** Folders that share nothing with what they judge, and what each may import besides Node's own modules and itself. */
const separate: Readonly<Record<string, readonly string[]>> = {
  'judge/src/': [],
  'judge/test/': ['judge/src/'],
  'simulator/src/recording/': ['@outlay/judge'],
}

/** Finds imports with which the judge, or what records for it, would share code with the packages or the simulator. */
export const findSharing = (file: File): readonly Finding[] => {
  const folder = Object.keys(separate).find((each) => file.path.startsWith(each))
  if (folder === undefined || !isTypeScript(file)) return []
  const tests = isTest(file) ? ['judge/test/', 'vitest', '@outlay/testing', 'pg'] : []
  const allowed = [folder, 'node:', ...(separate[folder] ?? []), ...tests]
  return parse(file)
    .specifiers.map((specifier) =>
      specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : specifier,
    )
    .filter((target) => !allowed.some((each) => target.startsWith(each)))
    .map((target) => `${file.path}: the judge may not import ${target}; it shares nothing with what it judges`)
}

/** Lines of the judge, tests left out. */
export const countJudgeLines = (files: readonly File[]): number =>
  files
    .filter((file) => file.path.startsWith('judge/src/') && isTypeScript(file) && !isTest(file))
    .reduce((sum, { text }) => sum + text.replace(/\n$/, '').split('\n').length, 0)
