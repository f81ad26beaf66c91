/** A tool that hosts build or test with, and what it must do with the packed packages. */
export interface Stack {
  readonly name: string
  /** A command of a POSIX shell, run in the folder of the project with its programs in the path. */
  readonly command: string
  /** True for one that stands for the others where there is little time. */
  readonly isEssential?: boolean
  /** True for one whose output is a result. */
  readonly reports?: boolean
}

/** What the project installs from npm beside the packed packages. */
export const dependencies: Readonly<Record<string, string>> = {
  pg: '8.23.1',
  knex: '3.3.0',
  '@types/node': '24.19.2',
  '@types/pg': '8.23.1',
  esbuild: '0.28.2',
  jest: '30.5.2',
  postgres: '3.4.9',
  'typescript-5.4': 'npm:typescript@5.4.5',
  'typescript-7.0': 'npm:typescript@7.0.2',
}

/** What it installs for all stacks, not for the essential ones alone. */
export const moreDependencies: Readonly<Record<string, string>> = {
  '@neondatabase/serverless': '1.2.0',
  'drizzle-orm': '0.45.4',
  '@mikro-orm/core': '7.2.5',
  '@mikro-orm/postgresql': '7.2.5',
  sequelize: '6.37.8',
  typeorm: '1.1.1',
  ws: '8.23.0',
  rollup: '4.68.8',
  '@rollup/plugin-commonjs': '29.0.3',
  '@rollup/plugin-json': '6.1.0',
  '@rollup/plugin-node-resolve': '16.0.3',
  vitest: '5.1.1',
  webpack: '5.112.2',
  'webpack-cli': '7.3.1',
  'typescript-5.9': 'npm:typescript@5.9.3',
  'typescript-6.0': 'npm:typescript@6.0.3',
  bun: '1.4.5',
  deno: '2.9.6',
}

/** Compiles a host. Other libraries' declarations may have errors of their own; those of the packed packages may not. */
export function compile(
  version: string,
  module: string,
  moduleResolution: string,
  more = '',
  file = 'host.ts',
  project = '',
): Stack {
  const options = `--strict --target es2022 --lib es2023,esnext.disposable --types node --esModuleInterop --module ${module} --moduleResolution ${moduleResolution} ${more}`
  const tsc = `node node_modules/typescript-${version}/bin/tsc --noEmit ${options}`
  return {
    name: `TypeScript ${version}, --module ${module} --moduleResolution ${moduleResolution}, ${file}${project}`,
    command: `${tsc} --skipLibCheck ${file}; ! ${tsc} ${file} | grep @outlay`,
  }
}

/** Runs a bundle of the given files where nothing is installed, and checks that they are below 3 MB when compressed. */
const runBundle = (main: string, files = main) =>
  `cd ../bundles && node ${main} "$INVOICE" && test "$(cat ${files} | gzip -c | wc -c)" -lt 3000000`

/** Pays with a library of the host's, beside node-postgres. */
const useLibrary = (name: string): Stack => ({ name, command: `node library.js ${name} "$INVOICE"` })

/** The oldest Node that the packages run on, from npm, as a program of a command. */
const oldestNode = 'npx --yes node@22.19.0'

const requireOfBundles = `import{createRequire}from"node:module";const require=createRequire(import.meta.url);`

/**
 * Bundles a function with pg alone and with us, and compares the times from the start of their processes to their commits. In parts,
 * pg-boss and undici are files that such a function does not read; in one file, Node parses them.
 */
const measureStart = (name: string, options: string, limit: string): Stack => {
  const bundle = (one: string) =>
    `esbuild lambda/${one}.mjs --bundle --platform=node --format=esm --minify --log-level=error --banner:js='${requireOfBundles}' --out-extension:.js=.mjs ${options} --outdir=../bundles/${name}/${one}`
  const isSmall = `size="$(cat ../bundles/${name}/outlay/* | gzip -c | wc -c)"; echo "$size bytes compressed"; test "$size" -lt 3000000`
  return {
    name: `Start of a function, bundled in ${name}`,
    command: `${bundle('pg')}; ${bundle('outlay')}; ${isSmall}; node lambda/measure.mjs ${limit} ../bundles/${name}/pg/pg.mjs ../bundles/${name}/outlay/outlay.mjs`,
    reports: true,
  }
}

/** Every stack, in the order in which they run. */
export const stacks: readonly Stack[] = [
  { name: 'require()', command: 'node main.js "$INVOICE"', isEssential: true },
  { name: 'import', command: 'node main.mjs "$INVOICE"' },
  {
    name: 'esbuild, CommonJS',
    command: `esbuild main.js --bundle --platform=node --log-level=error --outfile=../bundles/esbuild.cjs && ${runBundle('esbuild.cjs')}`,
    isEssential: true,
  },
  {
    name: 'esbuild, ES modules',
    command: `esbuild main.mjs --bundle --platform=node --format=esm --log-level=error --banner:js='${requireOfBundles}' --outfile=../bundles/esbuild.mjs && ${runBundle('esbuild.mjs')}`,
  },
  { name: 'Rollup', command: `rollup --silent -c rollup.config.mjs && ${runBundle('rollup/main.mjs', 'rollup/*')}` },
  { name: 'webpack', command: `webpack -c webpack.config.cjs --stats errors-only && ${runBundle('webpack.cjs')}` },
  { name: 'Jest, CommonJS', command: 'jest --ci payout.test.js', isEssential: true },
  {
    name: 'Jest, ES modules',
    command: 'NODE_OPTIONS=--experimental-vm-modules jest --ci --testMatch "**/payout.test.mjs"',
  },
  { name: 'Vitest', command: 'vitest run --globals payout.test.mjs' },
  { name: "Node's test runner", command: 'node --test payout.node-test.mjs' },
  { ...compile('5.4', 'commonjs', 'node10'), isEssential: true },
  compile('5.4', 'node16', 'node16'),
  compile('5.4', 'nodenext', 'nodenext'),
  compile('5.4', 'esnext', 'bundler'),
  compile('5.9', 'commonjs', 'node10'),
  compile('5.9', 'node16', 'node16'),
  compile('5.9', 'nodenext', 'nodenext'),
  compile('5.9', 'node20', 'node16'),
  compile('5.9', 'esnext', 'bundler'),
  compile('6.0', 'commonjs', 'node10', '--ignoreDeprecations 6.0'),
  compile('6.0', 'commonjs', 'bundler'),
  compile('6.0', 'esnext', 'bundler'),
  compile('6.0', 'node16', 'node16'),
  compile('6.0', 'nodenext', 'nodenext'),
  compile('7.0', 'commonjs', 'bundler'),
  compile('7.0', 'esnext', 'bundler'),
  { ...compile('7.0', 'node16', 'node16'), isEssential: true },
  compile('7.0', 'nodenext', 'nodenext'),
  { ...useLibrary('postgres-js'), isEssential: true },
  useLibrary('drizzle-postgres-js'),
  useLibrary('neon'),
  useLibrary('drizzle-neon'),
  useLibrary('mikro-orm'),
  useLibrary('sequelize'),
  useLibrary('typeorm'),
  { name: 'drivers as ES modules', command: 'node library.mjs' },
  compile('5.9', 'commonjs', 'node10', '', 'libraries.ts'),
  compile('5.9', 'nodenext', 'nodenext', '', 'libraries.ts'),
  compile('7.0', 'nodenext', 'nodenext', '', 'libraries.ts'),
  { name: 'Bun, ES modules', command: 'bun main.mjs "$INVOICE"' },
  { name: 'Bun, CommonJS', command: 'bun main.js "$INVOICE"' },
  { name: "Bun's test runner", command: 'bun test ./payout.test.mjs' },
  { name: 'Deno, ES modules', command: 'deno run --allow-all main.mjs "$INVOICE"' },
  { name: 'Deno, CommonJS', command: 'deno run --allow-all main.js "$INVOICE"' },
  {
    name: 'Node 22.19, bundle of esbuild, CommonJS',
    command: `test "$(${oldestNode} -p process.version)" = v22.19.0; esbuild main.js --bundle --platform=node --log-level=error --outfile=../bundles/node-22.cjs; cd ../bundles; ${oldestNode} node-22.cjs "$INVOICE"`,
  },
  { name: 'Node 22.19, Jest, CommonJS', command: `${oldestNode} node_modules/jest/bin/jest.js --ci payout.test.js` },
  { name: 'Node 22.19, postgres-js', command: `${oldestNode} library.js postgres-js "$INVOICE"` },
  measureStart('parts', '--splitting', '2'),
  measureStart('one-file', '', 'unlimited'),
]
