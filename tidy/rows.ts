import { type File, type Finding, isPublished } from './repository.ts'
import { type Node, parse, walk } from './syntax.ts'

/** Packages whose rows are decoded. */
const packages = /^packages\/(adapters-pg|service)\//

/** Functions that return rows, of the packages and of the libraries under them. */
const reads = new Set(['run', 'query', 'send', 'execute', '$queryRawUnsafe'])

/**
 * Finds types of rows and of their columns that are asserted instead of decoded: `row['id'] as string`, `rows as Transfer[]`,
 * `pool.query<Transfer>(…)`. Their type may only be `Row`, whose columns are unknown.
 */
export const findAssertedRows = (file: File): readonly Finding[] => {
  if (!isPublished(file) || !packages.test(file.path)) return []
  const { program, lineAt } = parse(file)
  const found: Finding[] = []
  const report = (node: Node, what: string) =>
    found.push(`${file.path}:${lineAt(node.start)}: asserts the type of ${what}; read the row with a rowDecoder`)
  walk(program, (node) => {
    if (node.type === 'TSAsExpression') {
      if (isColumn(node.expression)) report(node, 'a column')
      else if (isRows(node.expression) && !isRowType(node.typeAnnotation)) report(node, 'a row')
    } else if (isRead(node) && node.typeArguments?.params.every(isRowType) === false) report(node, 'a row')
  })
  return found
}

/** True for `row['id']`, `row?.['id']`, and either of them with a fallback. */
const isColumn = (node: Node): boolean => {
  const inner = innerOf(node)
  if (inner !== undefined) return isColumn(inner)
  return (
    node.type === 'MemberExpression' &&
    node.computed &&
    node.property.type === 'Literal' &&
    typeof node.property.value === 'string'
  )
}

/** True for `row`, `rows`, `result.rows`, `rows[0]`, and what a read returns. */
const isRows = (node: Node): boolean => {
  const inner = innerOf(node)
  if (inner !== undefined) return isRows(inner)
  if (node.type === 'Identifier') return node.name === 'row' || node.name === 'rows'
  if (node.type === 'AwaitExpression') return isRows(node.argument)
  if (node.type !== 'MemberExpression') return isRead(node)
  if (node.computed) return isRows(node.object)
  return node.property.type === 'Identifier' && node.property.name === 'rows'
}

const isRead = (node: Node): node is Extract<Node, { type: 'CallExpression' }> =>
  node.type === 'CallExpression' && reads.has(nameOf(node.callee))

const nameOf = (callee: Node): string => {
  if (callee.type === 'Identifier') return callee.name
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return ''
  return callee.property.name
}

/** What parentheses, another assertion or a fallback stand around. */
const innerOf = (node: Node): Node | undefined => {
  switch (node.type) {
    case 'ParenthesizedExpression':
    case 'ChainExpression':
    case 'TSAsExpression':
    case 'TSNonNullExpression':
      return node.expression
    case 'LogicalExpression':
      return node.left
    default:
      return undefined
  }
}

/** True for `Row`, `Row[]` and `readonly Row[]`. */
const isRowType = (node: Node): boolean => {
  if (node.type === 'TSTypeOperator') return isRowType(node.typeAnnotation)
  if (node.type === 'TSArrayType') return isRowType(node.elementType)
  return node.type === 'TSTypeReference' && node.typeName.type === 'Identifier' && node.typeName.name === 'Row'
}
