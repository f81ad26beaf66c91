import { defineConfig } from 'vitepress'
import { readTagline, writeHome } from '../src/home.ts'
import { breakCode, linkPages, placeDiagrams, shortenHome } from '../src/markdown.ts'
import { listPages, slugOf } from '../src/pages.ts'
import { listFiles, readRepositoryUrl } from '../src/repository.ts'
import { rankPage } from '../src/search.ts'
import { writeSidebar } from '../src/sidebar.ts'

const files = listFiles()
const pages = listPages(files)
const repositoryUrl = readRepositoryUrl()

export default defineConfig({
  srcDir: '..',
  outDir: 'dist/pages',
  cacheDir: 'dist/cache',
  // Without it, every file of the repository that is called config.ts would count as one of the site's.
  additionalConfig: {},
  srcExclude: files.filter((path) => path.endsWith('.md') && !pages.has(path)),
  rewrites: Object.fromEntries(pages),
  title: 'Outlay',
  description: readTagline(),
  lang: 'en',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  transformPageData: ({ filePath, frontmatter }) =>
    filePath === 'README.md' ? { frontmatter: { ...frontmatter, ...writeHome() } } : undefined,
  themeConfig: {
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: rankPage } } } },
    outline: { level: [2, 3] },
    nav: [
      { text: 'Guides', link: '/guides/', activeMatch: '^/(guides|examples)/' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
      { text: 'Decisions', link: '/decisions/', activeMatch: '^/decisions/' },
      { text: 'Performance', link: '/performance' },
      { text: 'Reliability', link: '/reliability' },
    ],
    sidebar: writeSidebar(),
    socialLinks: [{ icon: 'github', link: repositoryUrl, ariaLabel: 'The repository' }],
    notFound: {
      quote: 'No page has this address. The search finds pages by their text.',
      linkText: 'Go to the first page',
    },
    editLink: { pattern: `${repositoryUrl}/edit/main/:path`, text: 'Edit this page' },
  },
  markdown: {
    anchor: { slugify: slugOf },
    config: (md) => {
      linkPages(md, { pages, files, repositoryUrl })
      placeDiagrams(md)
      breakCode(md)
      shortenHome(md)
    },
  },
  vite: {
    publicDir: false,
    build: { chunkSizeWarningLimit: 4_000 },
  },
})
