import { execFileSync } from 'node:child_process'
import type pg from 'pg'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import type { ConsoleOptions } from '../src/console.ts'
import { closeWindows, startBrowser, type Visit, type VisitOptions, visit } from './browser.ts'
import { type ConsoleHost, consoleHost } from './host.ts'

/** What a test of pages works with. */
export interface Pages {
  readonly host: ConsoleHost
  /** Opens a window of a person at the console. */
  visit(options?: VisitOptions): Promise<Visit>
}

/** Path of an installed Chromium, as Debian names it; undefined where there is none. */
function findChromium(): string | undefined {
  try {
    return execFileSync('which', ['chromium'], { encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return undefined
  }
}

/**
 * Tests of pages in Chromium, at a console with the given options; after each its windows are closed. Where there is no Chromium they are
 * skipped, by name.
 */
export function describePages(
  name: string,
  tests: (pages: Pages) => void,
  options: (host: ConsoleHost) => Partial<ConsoleOptions<pg.PoolClient>> = () => ({}),
): void {
  const executablePath = findChromium()
  const skipped = executablePath === undefined ? ' (skipped: there is no chromium on PATH)' : ''
  describe.skipIf(executablePath === undefined)(`${name} in Chromium${skipped}`, async () => {
    // Nothing is started for tests that are skipped.
    const host = executablePath === undefined ? ({} as ConsoleHost) : await consoleHost()
    let browser: Browser
    let url = ''
    beforeAll(async () => {
      browser = await startBrowser(executablePath ?? '')
      url = await host.serve(options(host))
    })
    afterEach(() => closeWindows(browser, host.pool))
    afterAll(() => browser.close())
    tests({ host, visit: (given) => visit(browser, url, given) })
  })
}
