import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import type { Authorization } from '../src/authorization/authorization.ts'
import { admin } from './host.ts'

/** Starts a Chromium. */
export const startBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'] })

/** Closes all windows, and waits until the database has answered what they had asked: that would be in the way of who empties the tables. */
export async function closeWindows(browser: Browser, pool: pg.Pool): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()))
  await waitUntil(async () => {
    const { rows } = await pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
    )
    return rows.length === 0 ? true : undefined
  })
}

/** A window of somebody, with all that its console has said. */
export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  /** Address of the console. */
  readonly url: string
  /** Errors and warnings of the console and of scripts, requests that failed, and requests to other hosts. */
  readonly errors: readonly string[]
  /** Opens a page of the console, and waits until nothing is being read. */
  open(path: string): Promise<void>
}

/** How a window differs from one of the admin on a desktop. */
export interface VisitOptions {
  readonly as?: Authorization | null | undefined
  readonly width?: number | undefined
  readonly theme?: 'light' | 'dark' | undefined
}

/** Opens a window of a person. The test says who it is in a header, as hosts do in a cookie. */
export async function visit(
  browser: Browser,
  url: string,
  { as = admin, width = 1280, theme = 'light' }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width, height: width < 800 ? 844 : 900 },
    colorScheme: theme,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
    ...(as === null ? {} : { extraHTTPHeaders: { 'x-test-person': JSON.stringify(as) } }),
  })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    // The browser itself reports each answer that is a refusal; pages show those.
    if (message.text().startsWith('Failed to load resource')) return
    if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:'))
      errors.push(`${request.url()} is elsewhere`)
  })
  return {
    ...{ page, context, url, errors },
    async open(path) {
      await page.goto(`${url}${path}`)
      await settle(page)
    },
  }
}

/** Waits until the page has a heading, and nothing of it is being read. */
export async function settle(page: Page): Promise<void> {
  await page.locator('h1, .state h2').first().waitFor()
  await page.locator('.loading, [aria-busy=true]').first().waitFor({ state: 'detached' })
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds on a page by the rules of WCAG 2.2 AA, in words. */
export async function findInaccessible(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })",
  )) as { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }
  return violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  )
}

/** The dialog that is open: a notice has the role of one, too. */
export const dialogOf = (page: Page): Locator => page.getByRole('dialog').and(page.locator(':not(.notice)'))

/** Presses what an action is done with: its button, its reason, and the button that confirms it. */
export async function act(page: Page, button: string, verb: string, reason: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click()
  const dialog = dialogOf(page)
  await dialog.getByRole('textbox', { name: /Reason|Note/ }).fill(reason)
  await dialog.getByRole('button', { name: verb, exact: true }).click()
}

/** Adds a policy to those that somebody changes, by the name of its template. */
export async function addPolicy(page: Page, template: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a policy' }).click()
  await page.getByRole('menuitem', { name: template, exact: true }).click()
}
