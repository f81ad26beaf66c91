import { type Comment, type Node, type Program, parseSync, visitorKeys } from 'oxc-parser'
import type { File } from './repository.ts'

export type { Node }

/** A parsed source file. */
export interface Syntax {
  readonly program: Program
  readonly comments: readonly Comment[]
  /** Line of an offset, counted from 1. */
  lineAt(offset: number): number
  /** What the file imports or re-exports from, in any form that is a literal. */
  readonly specifiers: readonly string[]
}

const cache = new WeakMap<File, Syntax>()

/** Parses a file once. Throws when it is not TypeScript. */
export const parse = (file: File): Syntax => {
  const known = cache.get(file)
  if (known !== undefined) return known
  const { program, comments, errors } = parseSync(file.path, file.text)
  if (errors[0] !== undefined) throw new Error(`${file.path}: ${errors[0].message}`)
  const starts = [0, ...[...file.text.matchAll(/\n/g)].map((match) => match.index + 1)]
  const syntax: Syntax = {
    program,
    comments,
    lineAt: (offset) => starts.findLastIndex((start) => start <= offset) + 1,
    specifiers: specifiersOf(program),
  }
  cache.set(file, syntax)
  return syntax
}

/** Calls `visit` for every node below `node`, with its parent. */
export const walk = (node: Node, visit: (node: Node, parent: Node | undefined) => void, parent?: Node): void => {
  visit(node, parent)
  for (const key of visitorKeys[node.type] ?? []) {
    const value = (node as unknown as Record<string, unknown>)[key]
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child !== null && typeof child === 'object') walk(child as Node, visit, node)
    }
  }
}

const specifiersOf = (program: Program): readonly string[] => {
  const found: string[] = []
  walk(program, (node) => {
    const source = 'source' in node ? node.source : undefined
    if (
      source !== null &&
      typeof source === 'object' &&
      source.type === 'Literal' &&
      typeof source.value === 'string'
    ) {
      found.push(source.value)
    }
  })
  return found
}
