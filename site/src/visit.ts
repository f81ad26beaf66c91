import type { Browser, BrowserContext, Page } from 'playwright-core'

/** A browser's findings on one page. */
export interface VisitedPage {
  /** Path on the site, such as `/guides/operating.html`. */
  readonly address: string
  readonly title: string
  /** Errors of the console and of scripts, requests that failed, and requests to other hosts. */
  readonly errors: readonly string[]
  /** The absolute targets of its links. */
  readonly links: readonly string[]
  /** What a link can name after `#`. */
  readonly ids: readonly string[]
  /** By the width of the window, how many pixels the page is wider than that. */
  readonly overflow: Readonly<Record<number, number>>
  readonly diagrams: { readonly asked: number; readonly drawn: number }
}

const desktop = { width: 1280, height: 900 }
const phone = { width: 390, height: 844 }

/** Opens every page, a few at a time, each at the width of a desktop and of a phone. */
export async function visitAll(
  browser: Browser,
  url: string,
  addresses: readonly string[],
): Promise<readonly VisitedPage[]> {
  const context = await browser.newContext({ viewport: desktop })
  const waiting = [...addresses]
  const visited: VisitedPage[] = []
  const visitor = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      visited.push(await visit(context, url, next))
  }
  await Promise.all([visitor(), visitor(), visitor()])
  await context.close()
  return visited.sort((a, b) => (a.address < b.address ? -1 : 1))
}

async function visit(context: BrowserContext, url: string, address: string): Promise<VisitedPage> {
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text())
  })
  page.on('requestfailed', (request) => errors.push(`${request.url()} failed`))
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:'))
      errors.push(`${request.url()} is elsewhere`)
  })
  await page.goto(new URL(address, url).href)
  await page.waitForFunction(
    () => (document.querySelector('#app') as { __vue_app__?: unknown } | null)?.__vue_app__ != null,
  )
  const diagrams = await countDiagrams(page, errors)
  const overflow: Record<number, number> = {}
  for (const size of [desktop, phone]) {
    await page.setViewportSize(size)
    overflow[size.width] = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement
      return scrollWidth - clientWidth
    })
  }
  const title = await page.title()
  const links = await page.$$eval('a[href]', (all) => [...new Set(all.map((link) => (link as HTMLAnchorElement).href))])
  const ids = await page.$$eval('[id]', (all) => all.map(({ id }) => id))
  await page.close()
  return { address, title, errors, links, ids, overflow, diagrams }
}

/** Waits until each diagram is drawn or the page has reported an error. */
async function countDiagrams(page: Page, errors: readonly string[]): Promise<VisitedPage['diagrams']> {
  const asked = await page.locator('.diagram').count()
  const drawn = () => page.locator('.diagram > svg').count()
  const until = Date.now() + 60_000
  while ((await drawn()) < asked && errors.length === 0 && Date.now() < until) {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)))
  }
  return { asked, drawn: await drawn() }
}
