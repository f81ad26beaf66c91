import { type File, type Finding, isTypeScript } from './repository.ts'
import { type Node, parse, walk } from './syntax.ts'

/** Longest file, in lines. */
export const maxFileLines = 400
/** Longest function, in lines. */
export const maxFunctionLines = 70

/** Finds source files with too many lines. */
export const findLongFile = (file: File): readonly Finding[] => {
  if (!isTypeScript(file) && !/\.(sql|mjs|js)$/.test(file.path)) return []
  const lines = file.text.replace(/\n$/, '').split('\n').length
  return lines > maxFileLines ? [`${file.path}: ${lines} lines, at most ${maxFileLines}; find the second noun`] : []
}

/** Finds functions with too many lines, of TypeScript and SQL. The body of a `describe`, or of a `describePages`, is a chapter, not a function. */
export const findLongFunctions = (file: File): readonly Finding[] => {
  if (/\/sql\/functions\/.*\.sql$/.test(file.path)) return findLongSqlFunction(file)
  if (!isTypeScript(file)) return []
  const { program, lineAt } = parse(file)
  const found: Finding[] = []
  walk(program, (node, parent) => {
    if (!isFunction(node) || isChapter(parent)) return
    const first = lineAt(node.start)
    const lines = lineAt(node.end - 1) - first + 1
    if (lines > maxFunctionLines) found.push(`${file.path}:${first}: ${lines} lines, at most ${maxFunctionLines}`)
  })
  return found
}

/** A file has one function, under its comment. */
const findLongSqlFunction = ({ path, text }: File): readonly Finding[] => {
  const lines = text.trim().split('\n')
  const first = lines.findIndex((line) => !line.startsWith('--'))
  const count = lines.length - first
  return count > maxFunctionLines ? [`${path}:${first + 1}: ${count} lines, at most ${maxFunctionLines}`] : []
}

const isFunction = (node: Node): boolean =>
  node.type === 'FunctionDeclaration' || node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression'

const isChapter = (parent: Node | undefined): boolean => {
  if (parent?.type !== 'CallExpression') return false
  let callee: Node = parent.callee
  for (;;) {
    if (callee.type === 'CallExpression') callee = callee.callee
    else if (callee.type === 'MemberExpression') callee = callee.object
    else return callee.type === 'Identifier' && /^describe(Pages)?$/.test(callee.name)
  }
}
