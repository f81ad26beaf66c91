import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { VisitOptions } from './browser.ts'

const root = join(import.meta.dirname, '../../..')
// Where documents have them, small, when somebody asks for it; elsewhere a run changes no file that is kept.
const isKept = process.env['OUTLAY_PICTURES'] === 'docs'
const folder = join(root, isKept ? 'docs/images/console' : '.outlay/pictures')

/** Each theme at the width of a desktop and of a phone. */
export const windows = (['light', 'dark'] as const).flatMap((theme) => [1280, 390].map((width) => ({ theme, width })))

/** Axe takes longer than all else, so each theme and each width is examined once. */
export const isExamined = ({ theme, width }: (typeof windows)[number]): boolean =>
  (theme === 'light') === (width === 1280)

/** Takes a picture of what a window shows, without a cursor that blinks. */
export async function takePicture(
  page: Page,
  name: string,
  { theme, width }: Pick<VisitOptions, 'theme' | 'width'>,
): Promise<void> {
  await page.evaluate('document.activeElement?.blur()')
  const session = await page.context().newCDPSession(page)
  const shape = isKept ? ({ format: 'webp', quality: 82 } as const) : ({ format: 'png' } as const)
  const { data } = await session.send('Page.captureScreenshot', shape)
  await session.detach()
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name}-${width}-${theme}.${shape.format}`), Buffer.from(data, 'base64'))
}

/** How many pixels a page is wider than its window. */
export const findSideways = async (page: Page): Promise<number> =>
  Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
