import { type File, type Finding, isTypeScript } from './repository.ts'
import { type Node, parse, walk } from './syntax.ts'

const waits = ['waitFor', 'waitUntil']

/** Finds waits of Vitest without a time limit of their own: by default they give up after a second, which a busy machine needs. */
export const findWaitsWithoutLimit = (file: File): readonly Finding[] => {
  if (!isTypeScript(file) || !file.text.includes('vi.wait')) return []
  const { program, lineAt } = parse(file)
  const found: Finding[] = []
  walk(program, (node) => {
    if (isWait(node) && !hasLimit(node.arguments[1])) {
      found.push(`${file.path}:${lineAt(node.start)}: waits one second only; give it a timeout`)
    }
  })
  return found
}

const isWait = (node: Node): node is Extract<Node, { type: 'CallExpression' }> => {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false
  const { object, property } = node.callee
  return (
    object.type === 'Identifier' &&
    object.name === 'vi' &&
    property.type === 'Identifier' &&
    waits.includes(property.name)
  )
}

/** A limit is a number, an object with a timeout, or a name of either. */
const hasLimit = (options: Node | undefined): boolean =>
  options !== undefined &&
  (options.type !== 'ObjectExpression' ||
    options.properties.some((one) => 'key' in one && one.key.type === 'Identifier' && one.key.name === 'timeout'))
