import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const read = (folder: URL, ending: RegExp) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }))

it('statements compare no indexed time with clock_timestamp(), which differs for each row, so that no index finds it', () => {
  const sources = [
    ...read(new URL('../', import.meta.url), /(?<!test)\.ts$/),
    ...read(new URL('../../sql/functions/', import.meta.url), /\.sql$/),
    ...read(new URL('../../sql/views/', import.meta.url), /\.sql$/),
  ]
  const compared = /\b(next_poll_at|due_at|occurred_at|claimed_at|next_poll_at)\s*[<>]=?\s*clock_timestamp\(\)/
  expect(sources.length).toBeGreaterThan(20)
  expect(sources.filter(({ text }) => compared.test(text)).map(({ name }) => name)).toEqual([])
})
