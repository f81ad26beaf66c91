/** A rule of policies that a member breaks. */
export interface RuleProblem {
  /** Path of the member in its policy, such as `when.amounts.USD.from`; empty for the policy itself. */
  readonly path: string
  readonly detail: string
}

const isBelow = (path: string, parent: string): boolean => path.startsWith(`${parent}.`)

/** What is wrong with a member itself. */
export const problemsAt = (problems: readonly RuleProblem[], path: string): readonly string[] =>
  problems.flatMap((one) => (one.path === path ? [one.detail] : []))

/** What is wrong with a member, or with anything in it. */
export const problemsIn = (problems: readonly RuleProblem[], path: string): readonly string[] =>
  problems.flatMap((one) => (one.path === path || isBelow(one.path, path) ? [one.detail] : []))

/** What is wrong with a list that is written one a line. */
export const problemsOfLines = (problems: readonly RuleProblem[], path: string): readonly string[] =>
  problems.flatMap(({ path: at, detail }) => {
    if (at === path) return [detail]
    return isBelow(at, path) ? [`Line ${Number(at.slice(path.length + 1)) + 1}: ${detail}`] : []
  })

/** What is wrong elsewhere than in these members, with the name of where it is. */
export const problemsBeside = (problems: readonly RuleProblem[], paths: readonly string[]): readonly string[] =>
  problems.flatMap(({ path, detail }) =>
    paths.some((one) => path === one || isBelow(path, one)) ? [] : [path === '' ? detail : `${path} ${detail}`],
  )

/** A member of the JSON of a policy. */
export type Json = Readonly<Record<string, unknown>>

/** The same with another member, at its place, or without it where it is undefined. */
export const withMember = (json: Json, name: string, value: unknown): Json =>
  Object.fromEntries(Object.entries({ ...json, [name]: value }).filter(([, one]) => one !== undefined))

/** Members of what should be an object. */
export const readObject = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}

/** Entries of what should be a list of texts. */
export const readTexts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])

/** The list with one of its entries before the one that is before it. */
export const moveUp = <T>(list: readonly T[], at: number): readonly T[] =>
  list.map((one, place) => (place === at ? (list[at - 1] ?? one) : place === at - 1 ? (list[at] ?? one) : one))
