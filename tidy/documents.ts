import { posix } from 'node:path'
import type { File, Finding } from './repository.ts'

/** True for a document. */
export const isDocument = (file: File): boolean => file.path.endsWith('.md')

/** Finds broken links between documents, code and folders. */
export const findBrokenLinks = (file: File, paths: readonly string[]): readonly Finding[] =>
  [...file.text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] ?? '')
    .filter((link) => !/^(https?:|mailto:|#)/.test(link))
    .filter((link) => {
      const target = posix.join(posix.dirname(file.path), link.replace(/#.*/, '')).replace(/\/$/, '')
      return !paths.some((path) => path === target || path.startsWith(`${target}/`))
    })
    .map((link) => `${file.path}: ${link} leads nowhere`)

const isBuilt = (place: string): boolean => place.split('/').includes('dist')

/** Finds file names, in code font, of places that do not exist in this repository. */
export const findMissingPlaces = (file: File, paths: readonly string[]): readonly Finding[] =>
  [
    ...file.text.matchAll(
      /`((?:packages|docs|tidy|examples|bench|e2e|judge|simulator|scripts|site|mutation|\.github|\.ci)\/[\w./-]*)`/g,
    ),
  ]
    .map((match) => (match[1] ?? '').replace(/\/$/, ''))
    .filter((place) => !isBuilt(place) && !paths.some((path) => path === place || path.startsWith(`${place}/`)))
    .map((place) => `${file.path}: there is no ${place}`)

/** Finds threats of the threat model without a test, and proofs that are no tests. */
export const findUnprovenThreats = (file: File): readonly Finding[] => {
  const section = file.text.split(/^## /m).find((each) => each.startsWith('Threat model')) ?? ''
  const threats = section.split('\n').filter((line) => /^\| (?!who |-)/.test(line))
  if (threats.length === 0) return [`${file.path}: there is no threat model`]
  return threats.flatMap((line) => {
    const cells = line.split(' | ')
    const proofs = [...(cells[3] ?? '').matchAll(/`([^`]*)`/g)].map((match) => match[1] ?? '')
    const wrong = proofs.filter((proof) => !/^(packages|e2e)\/.+\.test\.ts$/.test(proof))
    if (proofs.length === 0) return [`${file.path}: no test for ${line.slice(2, 40)}`]
    return wrong.map((proof) => `${file.path}: ${proof} is no test`)
  })
}

/** Reads the arrows of the Mermaid state diagram that has the given state, sorted, as `from → to`. */
export const readTransitions = (text: string, state: string): readonly string[] => {
  const diagrams = [...text.matchAll(/```mermaid\nstateDiagram-v2\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
  const diagram = diagrams.find((each) => new RegExp(`\\b${state}\\b`).test(each)) ?? ''
  return [...diagram.matchAll(/^ *(\w+) --> (\w+)/gm)].map((match) => `${match[1]} → ${match[2]}`).sort()
}
