import { describe, expect, it } from 'vitest'
import { findUnlisted } from './listings.ts'
import { readFiles } from './repository.ts'

const files = readFiles()
const paths = files.map((file) => file.path)

describe('pages', () => {
  it.each([
    ['docs/decisions/README.md', true],
    ['docs/guides/README.md', false],
  ])('are all listed in %s', (path, ordered) => {
    const index = files.find((file) => file.path === path)
    expect(index && findUnlisted(index, paths, ordered)).toEqual([])
  })
})

describe('the checks of listings', () => {
  const one = '1. [One](0001.md)\n'
  const two = '2. [Two](0002.md)\n'
  const index = (text: string) => ({ path: 'docs/a/README.md', text })

  it('report a page that its folder does not list, or not in order', () => {
    expect(findUnlisted(index(one + two), ['docs/a/0001.md', 'docs/a/0002.md', 'docs/b/c.md'], true)).toEqual([])
    expect(findUnlisted(index(one + two), ['docs/a/0001.md'], true)).toHaveLength(1)
    expect(findUnlisted(index(two + one), ['docs/a/0001.md', 'docs/a/0002.md'], true)).toHaveLength(1)
  })
})
