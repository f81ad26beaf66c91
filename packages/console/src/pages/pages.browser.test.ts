import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, findInaccessible, startBrowser, visit } from '../../test/browser.ts'
import { consoleHost } from '../../test/host.ts'
import { makeStory, type Story } from '../../test/story.ts'

const executablePath = findChromium()
const reason = executablePath === undefined ? ' (skipped: there is no chromium on PATH)' : ''
const root = join(import.meta.dirname, '../../../..')
// Where documents have them, small, when somebody asks for it; elsewhere a run changes no file that is kept.
const isKept = process.env['OUTLAY_PICTURES'] === 'docs'
const folder = join(root, isKept ? 'docs/images/console' : '.outlay/pictures')

async function takePicture(page: Page, name: string): Promise<void> {
  await page.evaluate('document.activeElement?.blur(); window.scrollTo(0, 0)')
  const session = await page.context().newCDPSession(page)
  const shape = isKept ? ({ format: 'webp', quality: 82 } as const) : ({ format: 'png' } as const)
  const { data } = await session.send('Page.captureScreenshot', shape)
  await session.detach()
  await writeFile(join(folder, `${name}.${shape.format}`), Buffer.from(data, 'base64'))
}

describe.skipIf(executablePath === undefined)(`the pages in Chromium${reason}`, async () => {
  const host = executablePath === undefined ? undefined : await consoleHost()
  let browser: Browser
  let url = ''
  let story: Story
  const pagesOf = ({ complete, held, blocked, batchId }: Story) => ({
    overview: '/overview',
    transfers: '/transfers',
    transfer: `/transfers/${complete}`,
    'transfer-held': `/transfers/${held[0]}`,
    'transfer-blocked': `/transfers/${blocked}`,
    approvals: '/approvals',
    batches: '/batches',
    batch: `/batches/${batchId}`,
    accounts: '/accounts',
    account: '/accounts/acme',
    subscriptions: '/subscriptions',
    policies: '/policies',
    audit: '/audit',
  })
  beforeAll(async () => {
    await mkdir(folder, { recursive: true })
    browser = await startBrowser(executablePath ?? '')
  })
  afterAll(() => browser.close())

  it('render without an error, without a scroll bar sideways, and accessible, in both themes and at both widths', async () => {
    if (host === undefined) throw new Error('There is no host.')
    url = await host.serve({ shownMetadata: ['invoice'] })
    story = await makeStory(host)
    const findings: string[] = []
    for (const theme of ['light', 'dark'] as const) {
      for (const width of [1280, 390]) {
        const seen = await visit(browser, url, { theme, width })
        for (const [name, path] of Object.entries(pagesOf(story))) {
          await seen.open(path)
          const where = `${name} ${theme} ${width}`
          const sideways = await seen.page.evaluate('document.documentElement.scrollWidth - innerWidth')
          if (sideways !== 0) findings.push(`${where} is ${sideways} px too wide`)
          // Each theme and each width once: axe takes longer than all else.
          if ((theme === 'light') === (width === 1280))
            findings.push(...(await findInaccessible(seen.page)).map((one) => `${where}: ${one}`))
          await takePicture(seen.page, `${name}-${width}-${theme}`)
        }
        findings.push(...seen.errors)
        await seen.context.close()
      }
    }
    expect(findings).toEqual([])
  })
})
