import { expect, it } from 'vitest'
import { readGroups, writeSidebar } from './sidebar.ts'

it('groups of the sidebar are those of the README', () => {
  const text =
    'To begin with:\n\n- [A](a.md): one.\n- [`B`](b.md): two.\n\n## Later\n\n- [C](c.md)\n\nSee [D](../d.md).\n'
  expect(readGroups('docs/guides', text)).toEqual([
    {
      text: 'To begin with',
      items: [
        { text: 'A', link: '/guides/a.md' },
        { text: 'B', link: '/guides/b.md' },
      ],
    },
    { text: 'Later', items: [{ text: 'C', link: '/guides/c.md' }] },
  ])
})

it('guides, the reference and decisions have a sidebar each', () => {
  const sidebar = writeSidebar()
  expect(Object.keys(sidebar)).toEqual(['/reference/', '/decisions/', '/'])
  for (const groups of Object.values(sidebar))
    expect(groups.flatMap(({ items }) => items ?? []).length).toBeGreaterThan(10)
})

it('decisions have the numbers of their files', () => {
  const [decisions] = writeSidebar()['/decisions/'] ?? []
  for (const { text, link } of decisions?.items ?? [])
    expect(link).toContain(`/decisions/${text.split('.')[0]?.padStart(4, '0')}-`)
})
