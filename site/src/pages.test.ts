import { expect, it } from 'vitest'
import { addressOf, pageOf, slugOf } from './pages.ts'

it.each([
  ['README.md', 'index.md'],
  ['ARCHITECTURE.md', 'architecture.md'],
  ['docs/performance.md', 'performance.md'],
  ['docs/guides/README.md', 'guides/index.md'],
  ['docs/guides/webhooks.md', 'guides/webhooks.md'],
  ['examples/README.md', 'examples/index.md'],
  ['packages/core/README.md', 'packages/core.md'],
])('%s becomes the page %s', (path, page) => {
  expect(pageOf(path)).toBe(page)
})

it.each(['LICENSE', '.github/pull_request_template.md', '.changeset/README.md', 'packages/core/src/a.ts'])(
  '%s is not on the site',
  (path) => {
    expect(pageOf(path)).toBeUndefined()
  },
)

it('the index of a folder has the address of the folder', () => {
  expect(['index.md', 'guides/index.md', 'performance.md'].map(addressOf)).toEqual(['/', '/guides/', '/performance.md'])
})

it.each([
  ['What the engine makes of an answer', 'what-the-engine-makes-of-an-answer'],
  ["The service's `outlay doctor`, and more", 'the-services-outlay-doctor-and-more'],
  ['25. A & B', '25-a--b'],
])('the heading %s has the anchor %s, as on GitHub', (heading, anchor) => {
  expect(slugOf(heading)).toBe(anchor)
})
