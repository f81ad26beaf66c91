import { type File, type Finding, isPublished } from './repository.ts'
import { type Node, parse, walk } from './syntax.ts'

/** Finds types of columns that are asserted instead of decoded: `row['id'] as string`. */
export const findAssertedColumns = (file: File): readonly Finding[] => {
  if (!isPublished(file) || !file.path.startsWith('packages/adapters-pg/')) return []
  const { program, lineAt } = parse(file)
  const found: Finding[] = []
  walk(program, (node) => {
    if (node.type !== 'TSAsExpression' || !isColumn(node.expression)) return
    found.push(`${file.path}:${lineAt(node.start)}: asserts the type of a column; read the row with a rowDecoder`)
  })
  return found
}

/** True for `row['id']`, `row?.['id']`, and either of them with a fallback. */
const isColumn = (node: Node): boolean => {
  if (node.type === 'ParenthesizedExpression' || node.type === 'ChainExpression') return isColumn(node.expression)
  if (node.type === 'LogicalExpression') return isColumn(node.left)
  if (node.type === 'TSAsExpression' || node.type === 'TSNonNullExpression') return isColumn(node.expression)
  return (
    node.type === 'MemberExpression' &&
    node.computed &&
    node.property.type === 'Literal' &&
    typeof node.property.value === 'string'
  )
}
