import commonjs from '@rollup/plugin-commonjs'
import json from '@rollup/plugin-json'
import resolve from '@rollup/plugin-node-resolve'

export default {
  input: 'main.mjs',
  // In one file, Rollup places what is imported dynamically behind the entry, whose top-level await then never reaches it.
  output: { dir: '../bundles/rollup', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
  plugins: [
    resolve({ preferBuiltins: true, exportConditions: ['node'] }),
    commonjs({ ignoreDynamicRequires: true }),
    json(),
  ],
}
