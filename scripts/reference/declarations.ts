import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { File } from '../../tidy/repository.ts'
import { type Node, parse, walk } from '../../tidy/syntax.ts'
import { root } from '../packages.ts'

/** An exported declaration with its documentation. */
export interface Declaration {
  readonly name: string
  readonly kind: string
  /** The doc comment without its marks; empty when there is none. */
  readonly doc: string
  /** Interfaces whose members it inherits. */
  readonly bases: readonly string[]
  readonly members: readonly Member[]
}

/** A member of an exported interface. */
export interface Member {
  readonly name: string
  readonly isMethod: boolean
  readonly isOptional: boolean
  /** As in the source, on one line. */
  readonly type: string
  readonly doc: string
}

const files = new Map<string, File>()

const readSource = (path: string): File => {
  const known = files.get(path) ?? { path, text: readFileSync(join(root, path), 'utf8') }
  files.set(path, known)
  return known
}

/** Reads everything that a module exports, itself or from others of its package, in the order of the source. */
export function readExports(path: string): readonly Declaration[] {
  const file = readSource(path)
  const found = new Map<string, Declaration>()
  const add = (declaration: Declaration) => found.set(declaration.name, merge(found.get(declaration.name), declaration))
  for (const node of parse(file).program.body) {
    if (node.type === 'ExportAllDeclaration') {
      for (const one of readExports(resolve(path, node.source.value))) add(one)
    }
    if (node.type !== 'ExportNamedDeclaration') continue
    if (node.declaration !== null) {
      for (const one of declare(file, node, node.declaration)) add(one)
    } else if (node.source?.value.startsWith('.')) {
      const wanted = node.specifiers.map(({ exported }) => ('name' in exported ? exported.name : exported.value))
      for (const one of readExports(resolve(path, node.source.value))) if (wanted.includes(one.name)) add(one)
    }
  }
  return [...found.values()]
}

const resolve = (from: string, specifier: string): string => posix.join(posix.dirname(from), specifier)

/** A type and a value of one name are merged; so are overloads. */
function merge(known: Declaration | undefined, next: Declaration): Declaration {
  if (known === undefined || known.kind === next.kind) return known ?? next
  return { ...known, kind: `${known.kind}, ${next.kind}`, doc: known.doc === '' ? next.doc : known.doc }
}

const kinds: Readonly<Record<string, string>> = {
  FunctionDeclaration: 'function',
  ClassDeclaration: 'class',
  TSInterfaceDeclaration: 'interface',
  TSTypeAliasDeclaration: 'type',
}

function declare(file: File, statement: Node, declaration: Node): readonly Declaration[] {
  const doc = docBefore(file, statement.start)
  if (declaration.type === 'VariableDeclaration') {
    return declaration.declarations.flatMap(({ id, init }) => {
      const kind = init?.type === 'ArrowFunctionExpression' ? 'function' : 'value'
      return id.type === 'Identifier' ? [{ name: id.name, kind, doc, bases: [], members: [] }] : []
    })
  }
  const kind = kinds[declaration.type]
  if (kind === undefined || !('id' in declaration) || declaration.id?.type !== 'Identifier') return []
  const isInterface = declaration.type === 'TSInterfaceDeclaration'
  const members = isInterface ? declaration.body.body : []
  const bases = (isInterface ? declaration.extends : []).flatMap(({ expression }) =>
    expression.type === 'Identifier' ? [expression.name] : [],
  )
  return [{ name: declaration.id.name, kind, doc, bases, members: members.flatMap((one) => readMember(file, one)) }]
}

function readMember(file: File, node: Node): readonly Member[] {
  if (node.type !== 'TSPropertySignature' && node.type !== 'TSMethodSignature') return []
  if (node.key.type !== 'Identifier') return []
  const typed = node.type === 'TSPropertySignature' ? node.typeAnnotation?.typeAnnotation : undefined
  const type = typed === undefined ? '' : file.text.slice(typed.start, typed.end)
  return [
    {
      name: node.key.name,
      isMethod: node.type === 'TSMethodSignature',
      isOptional: node.optional,
      type: withoutComments(type)
        .replace(/\s+/g, ' ')
        .replace(/ \| undefined/g, ''),
      doc: docBefore(file, node.start),
    },
  ]
}

/** Reads the members of an object that a module defines by name, each with its doc comment. */
export function readProperties(path: string, name: string): readonly { readonly name: string; readonly doc: string }[] {
  const file = readSource(path)
  const found: { name: string; doc: string }[] = []
  walk(parse(file).program, (node) => {
    if (node.type !== 'VariableDeclarator' || node.id.type !== 'Identifier' || node.id.name !== name) return
    walk(node, (inner) => {
      if (inner.type !== 'Property' || inner.key.type !== 'Identifier') return
      found.push({ name: inner.key.name, doc: docBefore(file, inner.start) })
    })
  })
  return found
}

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '')

/** The doc comment right before an offset. */
function docBefore(file: File, offset: number): string {
  const comment = parse(file).comments.findLast(
    ({ type, end }) => type === 'Block' && end <= offset && file.text.slice(end, offset).trim() === '',
  )
  return comment?.value.startsWith('*') === true ? cleanDoc(comment.value) : ''
}

function cleanDoc(text: string): string {
  return text
    .replace(/^\*/, '')
    .replace(/^\s*\* ?/gm, '')
    .replace(/\{@link ([^}]+)\}/g, '`$1`')
    .trim()
}

/** The text of a doc comment before its tags, on one line. */
export const proseOf = (doc: string): string =>
  doc
    .replace(/(^|\n)@[\s\S]*$/, '')
    .replace(/\s+/g, ' ')
    .trim()

/** The first sentence of a doc comment. */
export const firstSentence = (doc: string): string => /^.+?\.(?=\s+[A-Z`"]|$)/.exec(proseOf(doc))?.[0] ?? proseOf(doc)
