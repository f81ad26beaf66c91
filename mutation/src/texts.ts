/** A node of the syntax tree, as far as it matters here. */
interface Node {
  readonly type: string
  readonly value?: unknown
  readonly quasis?: readonly { readonly value: { readonly raw: string } }[]
}

const textsOf = ({ type, value, quasis = [] }: Node): readonly string[] =>
  type === 'StringLiteral' ? [String(value)] : type === 'TemplateLiteral' ? quasis.map((part) => part.value.raw) : []

/**
 * Leaves texts for people as they are: a literal with words on both sides of a space. Codes, statuses, reasons and names are
 * single words, so they are mutated. A plugin of Stryker.
 */
export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'texts',
    value: {
      shouldIgnore: ({ node }: { readonly node: Node }): string | undefined =>
        textsOf(node).some((text) => /\w,? \w/.test(text)) ? 'a text for people' : undefined,
    },
  },
]
