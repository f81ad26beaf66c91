import commonjs from '@rollup/plugin-commonjs'
import json from '@rollup/plugin-json'
import resolve from '@rollup/plugin-node-resolve'

export default {
  input: 'main.mjs',
  output: { file: '../bundles/rollup.mjs', inlineDynamicImports: true },
  plugins: [
    resolve({ preferBuiltins: true, exportConditions: ['node'] }),
    commonjs({ ignoreDynamicRequires: true }),
    json(),
  ],
}
