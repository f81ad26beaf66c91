import { describe, expect, it } from 'vitest'
import { archive } from './archiving.ts'

const backend = { archive: () => Promise.reject(new Error('It must not be asked.')) }

describe('options of the archive', () => {
  it.each([
    [{ olderThanMs: 1e18 }, 'olderThanMs is a number from 0 to 3155760000000; got 1000000000000000000.'],
    [{ olderThanMs: -1 }, 'olderThanMs is a number from 0 to'],
    [{ olderThanMs: Number.NaN }, 'olderThanMs is a number from 0 to'],
    [{ olderThanMs: 0, limit: 0.5 }, 'limit is a whole number from 0 on; got 0.5.'],
    [{ olderThanMs: 0, limit: -1 }, 'limit is a whole number from 0 on'],
  ])('are refused by name before anything is read: %j', async (options, says) => {
    await expect(archive(backend, options)).rejects.toThrow(says)
  })
})
