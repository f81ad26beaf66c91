import { describe, expect, it } from 'vitest'
import { addRelease, newestVersion } from './changelog.ts'

const changes = [
  { summary: 'A payout can be late.', size: 'patch' },
  { summary: 'Cards.\nAnd their limits.', size: 'minor' },
] as const

describe('a release in the changelog', () => {
  it('has one entry for each change, above the releases before', () => {
    expect(addRelease('# Changelog\n\nNewest first.\n\n## 0.1.0\n\nThe first.\n', '0.2.0', changes)).toBe(
      '# Changelog\n\nNewest first.\n\n## 0.2.0\n\nNew:\n\n- Cards.\n  And their limits.\n\nFixed:\n\n- A payout can be late.\n\n## 0.1.0\n\nThe first.\n',
    )
  })

  it('completes the section of a version that was not released yet', () => {
    expect(
      addRelease('# Changelog\n\n## 0.2.0, not released yet\n\nNew:\n\n- Limits.\n', '0.2.0', changes.slice(0, 1)),
    ).toBe('# Changelog\n\n## 0.2.0\n\nFixed:\n\n- A payout can be late.\n\nNew:\n\n- Limits.\n')
  })

  it('can be the first one', () => {
    expect(addRelease('# Changelog\n', '0.1.0', changes.slice(0, 1))).toBe(
      '# Changelog\n\n## 0.1.0\n\nFixed:\n\n- A payout can be late.\n',
    )
  })
})

it.each([
  ['# Changelog\n\n## 0.2.0, not released yet\n\n## 0.1.0\n', { version: '0.2.0', isPending: true }],
  ['# Changelog\n\n## 0.2.0\n', { version: '0.2.0', isPending: false }],
  ['# Changelog\n', undefined],
])('the newest version of %j is known', (changelog, newest) => {
  expect(newestVersion(changelog)).toEqual(newest)
})
