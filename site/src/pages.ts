/**
 * The page that a document becomes, such as `guides/index.md` for `docs/guides/README.md`; `undefined` for a file that is not
 * on the site.
 */
export function pageOf(path: string): string | undefined {
  if (path === 'README.md') return 'index.md'
  if (/^[A-Z]+\.md$/.test(path)) return path.toLowerCase()
  const ofFolder = /^((?:packages|examples)\/[^/]+)\/README\.md$/.exec(path)?.[1]
  if (ofFolder !== undefined) return `${ofFolder}.md`
  if (!/^(docs\/.+|examples\/README)\.md$/.test(path)) return undefined
  return path.replace(/^docs\//, '').replace(/\bREADME\.md$/, 'index.md')
}

/** The page of every document among the files of the repository, by the path of the document. */
export function listPages(files: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    files.flatMap((path) => {
      const page = pageOf(path)
      return page === undefined ? [] : [[path, page] as const]
    }),
  )
}

/** The address of a page on the site, such as `/guides/`. */
export function addressOf(page: string): string {
  return `/${page.replace(/(^|\/)index\.md$/, '$1')}`
}

/** The anchor of a heading as GitHub makes it, so that one link works there and here. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}
