import type { File, Finding } from './repository.ts'

/** A thing that must not be written, and why. */
interface Rule {
  readonly pattern: RegExp
  readonly why: string
  /** Which files it is about; all of them when absent. */
  readonly files?: RegExp
}

const code = /\.m?[jt]s$/

/** What must not be written. This file and its test are left out of the search. */
const rules: readonly Rule[] = [
  { pattern: /\b(TODO|FIXME|XXX)\b/, why: 'finish it, or say plainly in the documentation what is left out' },
  { pattern: /\b(it|test|describe|bench)\.(only|skip|todo)\b/, why: 'every test runs', files: code },
  { pattern: /\bas any\b/, why: 'name the type, or use unknown', files: code },
  { pattern: /@ts-(ignore|nocheck)/, why: 'fix the types', files: code },
  { pattern: /(?<![\w.}/-])\/(home|Users|root|work|mnt)\/\w/, why: 'no path of one machine' },
  {
    pattern: /\/\/registry\.[a-z]+/,
    why: 'no host of one registry',
    files: /(^|\/)(\.npmrc|.*\.(json|ya?ml|m?[jt]s))$/,
  },
  {
    pattern: /(['"`])\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|DROP) /,
    why: 'write SQL in lower case',
    files: code,
  },
]

/** Finds words that must not be written. */
export const findBadWords = (file: File): readonly Finding[] => {
  if (/^tidy\/words\.(test\.)?ts$/.test(file.path)) return []
  const matching = rules.filter((rule) => rule.files?.test(file.path) ?? true)
  return file.text.split('\n').flatMap((line, index) =>
    matching.flatMap(({ pattern, why }) => {
      const word = pattern.exec(line)?.[0]
      return word === undefined ? [] : [`${file.path}:${index + 1}: "${word}": ${why}`]
    }),
  )
}

/** Finds folders and files whose name says nothing about what is in them. */
export const findEmptyNames = (file: File): readonly Finding[] => {
  const word = file.path.split(/[/.]/).find((part) => /^(utils?|helpers?|shared|common|misc)$/.test(part))
  return word === undefined ? [] : [`${file.path}: "${word}" is no noun of this house`]
}
