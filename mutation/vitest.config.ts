import { defineConfig } from 'vitest/config'

// Mutated code reads its mutant from the process, which core may not: the test of its purity is about the real text.
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts'],
    exclude: ['src/purity.test.ts', '**/node_modules/**'],
    testTimeout: 30_000,
  },
})
