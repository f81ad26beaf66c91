import { type File, type Finding, isPublished } from './repository.ts'
import { type Node, parse, walk } from './syntax.ts'

const globals = ['process', 'fetch', 'console', 'crypto', 'performance', 'Buffer', 'setTimeout', 'setInterval']
const calls = ['Date.now', 'Math.random']

/** The one noun that asks where it runs: an unsupported Node is refused when a package is loaded, where nothing can be an argument. */
const asking = 'packages/core/src/node-version.ts'

/** Finds what makes core impure: Node's modules, the process, clocks, randomness and the network. */
export const findImpurity = (file: File): readonly Finding[] => {
  if (!isPublished(file) || !file.path.startsWith('packages/core/') || file.path === asking) return []
  const { program, specifiers, lineAt } = parse(file)
  const found = specifiers.filter((name) => name.startsWith('node:')).map((name) => `${file.path}: imports ${name}`)
  walk(program, (node, parent) => {
    const name = impureName(node, parent)
    if (name !== undefined) found.push(`${file.path}:${lineAt(node.start)}: uses ${name}`)
  })
  return found
}

const impureName = (node: Node, parent: Node | undefined): string | undefined => {
  if (node.type === 'Identifier') return globals.includes(node.name) && !isMember(node, parent) ? node.name : undefined
  if (node.type === 'NewExpression' && node.callee.type === 'Identifier' && node.callee.name === 'Date') {
    return node.arguments.length === 0 ? 'new Date()' : undefined
  }
  if (node.type !== 'MemberExpression' || node.object.type !== 'Identifier') return undefined
  if (node.object.name === 'globalThis') return 'globalThis'
  const name = node.property.type === 'Identifier' ? `${node.object.name}.${node.property.name}` : ''
  return calls.includes(name) ? name : undefined
}

/** True for the name of a member: `gateway.fetch`, `{ fetch: 1 }`, `fetch(): void` in an interface. */
const isMember = (node: Node, parent: Node | undefined): boolean =>
  parent !== undefined &&
  (('property' in parent && parent.property === node) || ('key' in parent && parent.key === node))
