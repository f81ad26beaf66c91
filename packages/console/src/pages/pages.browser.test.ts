import { expect, it } from 'vitest'
import { findInaccessible } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'
import { findSideways, isExamined, takePicture, windows } from '../../test/pictures.ts'
import { makeStory, type Story } from '../../test/story.ts'

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
  limits: '/limits',
  audit: '/audit',
})

describePages(
  'the pages',
  ({ host, visit }) => {
    it('render without an error, without a scroll bar sideways, and accessible, in both themes and at both widths', async () => {
      const story = await makeStory(host)
      const findings: string[] = []
      for (const size of windows) {
        const seen = await visit(size)
        for (const [name, path] of Object.entries(pagesOf(story))) {
          await seen.open(path)
          const where = `${name} ${size.theme} ${size.width}`
          const sideways = await findSideways(seen.page)
          if (sideways !== 0) findings.push(`${where} is ${sideways} px too wide`)
          if (isExamined(size)) findings.push(...(await findInaccessible(seen.page)).map((one) => `${where}: ${one}`))
          await takePicture(seen.page, name, size)
        }
        findings.push(...seen.errors)
        await seen.context.close()
      }
      expect(findings).toEqual([])
    })
  },
  () => ({ shownMetadata: ['invoice'] }),
)
