import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  // The host may have the console below any path.
  base: './',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    target: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    // A file in place of text in the style sheet, which the policy of the page refuses.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    write: false,
    rolldownOptions: {
      // Libraries mark what runs in a browser, which is all of it here.
      onLog: (level, log, handle) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : handle(level, log)),
    },
    license: { fileName: 'licenses.md' },
  },
  logLevel: 'warn',
})
