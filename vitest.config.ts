import { defineConfig } from 'vitest/config'

const tests = (suffix: string) => [
  `packages/*/src/**/*${suffix}`,
  `examples/*/src/**/*${suffix}`,
  `bench/src/**/*${suffix}`,
  `judge/src/**/*${suffix}`,
  `scripts/**/*${suffix}`,
  `simulator/src/**/*${suffix}`,
  `site/src/**/*${suffix}`,
  `stacks/src/**/*${suffix}`,
]

/** Tests beside their sources that run whole programs. */
const endToEnd = ['simulator/src/{simulator,moves,chaos/chaos}.test.ts', 'site/src/site.test.ts']

// Where tests decide about a change, those of the database and of whole processes get a second try, and the report names those
// that needed it. Nowhere else: a test that needs an idle machine is wrong.
const retry = process.env['CI'] === undefined ? 0 : 1

// By default a poll gives up after one second, and where it still waits for an answer then it fails at once.
const expect = { poll: { timeout: 60_000 } }

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          expect,
          include: tests('.test.ts'),
          testTimeout: 120_000,
          exclude: ['**/*.pg.test.ts', '**/*.browser.test.ts', ...endToEnd, '**/node_modules/**'],
        },
      },
      {
        test: {
          name: 'pg',
          expect,
          include: tests('.pg.test.ts'),
          globalSetup: ['packages/testing/src/vitest-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
          retry,
        },
      },
      {
        test: {
          name: 'e2e',
          expect,
          include: ['e2e/src/**/*.test.ts', ...endToEnd],
          globalSetup: ['packages/testing/src/vitest-setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          retry,
          maxConcurrency: 8,
        },
      },
      {
        test: {
          name: 'browser',
          expect,
          include: tests('.browser.test.ts'),
          globalSetup: ['packages/testing/src/vitest-setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
          retry,
        },
      },
      { test: { name: 'tidy', include: ['tidy/**/*.test.ts'], testTimeout: 120_000 } },
      {
        test: {
          name: 'types',
          include: [],
          typecheck: { enabled: true, only: true, include: tests('.test-d.ts'), tsconfig: 'tsconfig.tests.json' },
        },
      },
    ],
  },
})
