import { describe, expect, it } from 'vitest'
import { resolveLink } from './links.ts'
import { listPages } from './pages.ts'

const files = [
  'README.md',
  'docs/guides/README.md',
  'docs/guides/a.md',
  'docs/b.md',
  'packages/core/src/a.ts',
  'LICENSE',
]
const targets = { files, pages: listPages(files), repositoryUrl: 'https://host.invalid/outlay' }
const resolve = (link: string) => resolveLink(link, 'docs/guides/a.md', targets)

describe('a link of a document', () => {
  it.each([
    ['../b.md', '/b.md'],
    ['../b.md#two-words', '/b.md#two-words'],
    ['README.md', '/guides/'],
    ['../guides', '/guides/'],
    ['../../README.md#x', '/#x'],
  ])('to the document %s leads to the page %s', (link, address) => {
    expect(resolve(link)).toBe(address)
  })

  it.each([
    ['../../LICENSE', 'https://host.invalid/outlay/blob/main/LICENSE'],
    ['../../packages/core/src/a.ts#L3', 'https://host.invalid/outlay/blob/main/packages/core/src/a.ts#L3'],
    ['../../packages/core/', 'https://host.invalid/outlay/tree/main/packages/core'],
  ])('to %s, which is no page, leads to the published repository', (link, address) => {
    expect(resolve(link)).toBe(address)
  })

  it.each(['https://example.com/a.md', 'mailto:a@example.com', '#here', '/b.md'])('%s stays as it is', (link) => {
    expect(resolve(link)).toBe(link)
  })

  it('that leads nowhere is refused with its document', () => {
    expect(() => resolve('../c.md')).toThrow('docs/guides/a.md: ../c.md leads nowhere.')
  })
})
