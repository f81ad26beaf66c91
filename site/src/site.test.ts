import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressOf, listPages } from './pages.ts'
import { listFiles, readRepositoryUrl, root } from './repository.ts'
import { type FolderServer, serveFolder } from './server.ts'
import { type VisitedPage, visitAll } from './visit.ts'

/** Path of the Chromium on PATH, as Debian names it. */
function findChromium(): string | undefined {
  try {
    return execFileSync('which', ['chromium'], { encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return undefined
  }
}

const executablePath = findChromium()
const reason = executablePath === undefined ? ' (skipped: there is no chromium on PATH)' : ''

describe.skipIf(executablePath === undefined)(`the documentation site in Chromium${reason}`, () => {
  const running = new AsyncDisposableStack()
  let server: FolderServer
  let browser: Browser
  let visited: readonly VisitedPage[]
  const files = listFiles()
  const addresses = [...listPages(files).values()].map((page) => addressOf(page).replace(/\.md$/, '.html')).sort()

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outlay-site-'))
    running.defer(() => rm(folder, { recursive: true, force: true }))
    await promisify(execFile)(process.execPath, ['site/src/build-main.ts', folder], { cwd: root })
    server = running.use(await serveFolder(folder, 0))
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
    running.defer(() => browser.close())
    visited = await visitAll(browser, server.url, addresses)
  }, 600_000)
  afterAll(() => running.disposeAsync())

  it('has a page for every document, each with a title', () => {
    expect(addresses.length).toBeGreaterThan(80)
    expect(visited.map(({ address }) => address)).toEqual(addresses)
    expect(visited.filter(({ title }) => !/\S \| Outlay$|^Outlay$/.test(title))).toEqual([])
  })

  it('reports no error, and sends no request to another host', () => {
    expect(visited.flatMap(({ address, errors }) => errors.map((error) => `${address}: ${error}`))).toEqual([])
  })

  it('links only to existing pages and headings, and to files of the repository', () => {
    const anchors = new Map(visited.map(({ address, ids }) => [address, new Set(ids)]))
    const repositoryUrl = readRepositoryUrl()
    const places = new Set(
      files.flatMap((file) => file.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'))),
    )
    const leadsSomewhere = (link: string): boolean => {
      const { origin, pathname, hash, href } = new URL(link)
      if (href.startsWith(repositoryUrl)) {
        const place = href
          .slice(repositoryUrl.length)
          .replace(/^\/(blob|tree|edit)\/main\//, '')
          .replace(/#.*/, '')
        return place === '' || places.has(decodeURIComponent(place))
      }
      if (`${origin}/` !== server.url) return /^https?:$/.test(new URL(link).protocol)
      const ids = anchors.get(pathname)
      return ids !== undefined && (hash === '' || ids.has(decodeURIComponent(hash.slice(1))))
    }
    const links = visited.flatMap(({ address, links: own }) => own.map((link) => [address, link] as const))
    expect(links.length).toBeGreaterThan(1_000)
    expect(links.filter(([, link]) => !leadsSomewhere(link))).toEqual([])
  })

  it.each([1280, 390])('does not scroll sideways at a width of %i', (width) => {
    expect(
      visited.filter(({ overflow }) => (overflow[width] ?? 1) > 0).map(({ address, overflow }) => [address, overflow]),
    ).toEqual([])
  })

  it('draws every diagram', () => {
    const drawn = visited.filter(({ diagrams }) => diagrams.asked > 0)
    expect(drawn.length).toBeGreaterThan(0)
    for (const { address, diagrams } of drawn) expect([address, diagrams.drawn]).toEqual([address, diagrams.asked])
  })

  it('finds a page by its words and opens it', async () => {
    const page = await browser.newPage()
    await page.goto(server.url)
    await page
      .getByRole('button', { name: /search/i })
      .first()
      .click()
    await page.locator('.VPLocalSearchBox input').fill('idempotency_key_mismatch')
    await page.locator('.VPLocalSearchBox .result').first().click()
    await page.locator('.VPDoc h1').waitFor()
    expect(new URL(page.url()).pathname).not.toBe('/')
    await page.close()
  })

  it('is dark for readers who want it dark, and remembers it', async () => {
    const page = await browser.newPage()
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.goto(`${server.url}guides/`)
    const light = await background()
    await page.locator('.VPNavBar .VPSwitchAppearance').click()
    await page.waitForFunction((before) => getComputedStyle(document.body).backgroundColor !== before, light)
    await page.reload()
    expect(await background()).not.toBe(light)
    await page.close()
  })
})
