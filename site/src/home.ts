import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './repository.ts'

/** The first sentence of the README, which says what this is. */
export function readTagline(): string {
  const tagline = /^\*\*(.+)\*\*$/m.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1]
  if (tagline === undefined) throw new Error('README.md has no bold sentence below its title.')
  return tagline
}

/** What makes the README the home page of the site. */
export function writeHome(): Record<string, unknown> {
  return {
    layout: 'home',
    hero: {
      name: 'Outlay',
      text: readTagline(),
      actions: [
        { text: 'Five-minute start', link: '/guides/five-minute-start' },
        { text: 'Guides', link: '/guides/', theme: 'alt' },
        { text: 'Reference', link: '/reference/', theme: 'alt' },
      ],
    },
  }
}
