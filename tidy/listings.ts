import { posix } from 'node:path'
import type { File, Finding } from './repository.ts'

/** Finds pages that the README of their folder does not list, once each; `ordered` wants them in the order of their names, too. */
export const findUnlisted = (index: File, paths: readonly string[], ordered: boolean): readonly Finding[] => {
  const folder = posix.dirname(index.path)
  const pages = paths.filter((path) => posix.dirname(path) === folder && path.endsWith('.md') && path !== index.path)
  const links = [...index.text.matchAll(/^(?:- |\d+\. )\[[^\]]+\]\(([^)/]+\.md)\)/gm)].map((match) => match[1] ?? '')
  const listed = ordered ? links : links.toSorted()
  const wanted = pages.map((path) => posix.basename(path)).sort()
  return listed.join() === wanted.join()
    ? []
    : [`${index.path}: lists ${listed.join(', ')} instead of ${wanted.join(', ')}`]
}
