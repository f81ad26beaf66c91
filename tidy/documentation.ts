import { type File, type Finding, isPublished } from './repository.ts'
import { type Node, parse } from './syntax.ts'

/** Finds declarations that a published package exports without a doc comment. */
export const findUndocumented = (file: File): readonly Finding[] => {
  if (!isPublished(file)) return []
  const { program, comments, lineAt } = parse(file)
  const docs = comments.filter((comment) => comment.type === 'Block' && /^\*\s*[*\s]*\S/.test(comment.value))
  const isDocumented = (offset: number): boolean =>
    docs.some((comment) => comment.end <= offset && file.text.slice(comment.end, offset).trim() === '')
  const seen = new Set<string>()
  return program.body.flatMap((node) => {
    const names = exportedNames(node)
    const fresh = names.filter((name) => !seen.has(name))
    for (const name of names) seen.add(name)
    if (fresh.length === 0 || isDocumented(node.start)) return []
    return [`${file.path}:${lineAt(node.start)}: ${fresh.join(', ')} has no doc comment`]
  })
}

/** Names that a statement declares and exports. Overloads and companions share one name, and the first one is documented. */
const exportedNames = (node: Node): readonly string[] => {
  if (node.type === 'ExportDefaultDeclaration') return ['default']
  if (node.type !== 'ExportNamedDeclaration' || node.declaration === null) return []
  const { declaration } = node
  if (declaration.type === 'VariableDeclaration') {
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? id.name : ['pattern']))
  }
  return 'id' in declaration && declaration.id?.type === 'Identifier' ? [declaration.id.name] : []
}
