import { defineConfig } from 'rolldown'

/** Loaded only where they are installed. */
const external = ['pg-native', 'pino-pretty', 'swagger-ui-dist']

const bundle = (source: string, name: string) => ({
  input: `src/${source}.ts`,
  platform: 'node' as const,
  external,
  output: { file: `dist/${name}.mjs`, format: 'esm' as const, codeSplitting: false },
})

export default defineConfig([bundle('main', 'main'), bundle('check-main', 'check')])
