import { relative } from 'node:path'
import type { MarkdownEnv, MarkdownRenderer } from 'vitepress'
import { type LinkTargets, resolveLink } from './links.ts'
import { root } from './repository.ts'

/** Path in the repository of the document that is being rendered. */
const sourceOf = (env: MarkdownEnv): string => relative(root, env.realPath ?? env.path).replaceAll('\\', '/')

/** Resolves the links of each document as `resolveLink` does. */
export function linkPages(md: MarkdownRenderer, targets: LinkTargets): void {
  md.core.ruler.push('link-pages', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const link = token.type === 'link_open' ? token.attrGet('href') : null
      if (link !== null) token.attrSet('href', resolveLink(link, sourceOf(env), targets))
    }
  })
}

/** Leaves a diagram to the component `Diagram`, which draws it in the browser. Its source stands on the page until then. */
export function placeDiagrams(md: MarkdownRenderer): void {
  const { fence } = md.renderer.rules
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index]
    if (token?.info.trim() !== 'mermaid') return fence?.(tokens, index, options, env, self) ?? ''
    return `<Diagram source="${encodeURIComponent(token.content)}" />`
  }
}

/** Leaves out the title and the first sentence of the README: the home page shows them larger, above its text. */
export function shortenHome(md: MarkdownRenderer): void {
  md.core.ruler.push('shorten-home', ({ tokens, env }) => {
    if (sourceOf(env) !== 'README.md') return
    const end = tokens.findIndex(({ type }) => type === 'paragraph_close')
    tokens.splice(0, end + 1)
  })
}

/** Lets inline code break where a reader expects it: behind the slashes of a path and before its endings, and not within an option such as `--dry-run`. */
export function breakCode(md: MarkdownRenderer): void {
  const { code_inline: render } = md.renderer.rules
  md.renderer.rules.code_inline = (tokens, index, options, env, self) =>
    (render?.(tokens, index, options, env, self) ?? '')
      .replace(/(?<=\w)\/(?=\w)|(?=\.(pg\.)?test\.ts)/g, '$&<wbr>')
      .replace(/(?<![\w-])--[a-z][a-z-]*/g, '<span class="option">$&</span>')
}
