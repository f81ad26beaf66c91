import { spawn } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { openSandbox, type ServiceAccess, toEnvironment } from '@outlay/example-sandbox'
import { createClient } from '@outlay/http-client'
import { startPostgres } from '@outlay/testing'
import { packPackages, root } from '../../scripts/packages.ts'
import type { Stack } from './stacks.ts'

/** The packages that hosts import. */
const hostPackages = ['@outlay/core', '@outlay/adapters-pg', '@outlay/http-client', '@outlay/opentelemetry']

/** How long npm may take to install everything, and how long a stack may run, in milliseconds. */
const installMs = 1_200_000
const runMs = 300_000

/** How a stack did. */
export interface Outcome {
  readonly passed: boolean
  /** What its command printed. */
  readonly output: string
}

/** A host's project in a folder of its own, with the packed packages, a database, and the service with play money. */
export interface Project extends AsyncDisposable {
  run(stack: Stack): Promise<Outcome>
}

/** What a project is made of. */
export interface ProjectOptions {
  /** Where its database is made. Default: a server of its own. */
  readonly url?: string | undefined
  /** The folder of its files. Default `project`. */
  readonly files?: string | undefined
  /** Whether its modules are ES modules by default. Default `commonjs`. */
  readonly type?: 'commonjs' | 'module' | undefined
  /** Packages of ours that it imports beside those that all hosts do. */
  readonly packages?: readonly string[] | undefined
}

/** A folder of its own, what a host installs there, and the stacks that are tried in it. */
export interface HostProject {
  readonly name: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly options: ProjectOptions
  readonly stacks: readonly Stack[]
}

/** Packs the packages as npm would get them, and installs them with `dependencies` in an empty folder. */
export async function openProject(
  dependencies: Readonly<Record<string, string>>,
  options: ProjectOptions = {},
): Promise<Project> {
  const { files = 'project', type = 'commonjs', packages = [] } = options
  await using opening = new AsyncDisposableStack()
  const parent = await mkdtemp(join(tmpdir(), 'outlay-stacks-'))
  opening.defer(() => rm(parent, { recursive: true, force: true }))
  const folder = join(parent, 'project')
  await cp(new URL(`../${files}`, import.meta.url), folder, { recursive: true })
  const tarballs = packPackages(join(parent, 'tarballs'))
  const packed = Object.fromEntries([...hostPackages, ...packages].map((name) => [name, `file:${tarballs.get(name)}`]))
  const manifest = { private: true, type, dependencies: { ...dependencies, ...packed }, overrides: packed }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const environment = hostEnvironment(folder)
  const installed = await runShell('npm install --no-audit --no-fund --no-package-lock', folder, environment, installMs)
  if (!installed.passed) throw new Error(`npm install failed:\n${installed.output}`)

  const postgres = opening.use(await startPostgres({ url: options.url }))
  const databaseUrl = await postgres.createDatabase()
  const sandbox = opening.use(await openSandbox(await postgres.createDatabase()))
  const access = { ...toEnvironment(databaseUrl, sandbox.access), PAYEE_ID: await registerPayee(sandbox.access) }

  const resources = opening.move()
  return {
    run: (stack) =>
      runShell(stack.command, folder, { ...environment, ...access, INVOICE: stack.name.replaceAll(/\W+/g, '-') }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

async function registerPayee({ accountId, baseUrl, credentials }: ServiceAccess): Promise<string> {
  const client = createClient({ baseUrl, credentials })
  const address = '0x7a39eB597c91da3F10f8702982a20372C2eb6499'
  const { id } = await client.addresses.createExternal(accountId, {
    name: 'Ada Park',
    address,
    transferTypes: ['base'],
  })
  await client.close()
  return id
}

/** As on a host's machine: of this workspace only its Node, and the registry that npm is configured with. */
function hostEnvironment(folder: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(HOME|USERPROFILE|npm_config_(registry|userconfig|cache|cafile)|TMPDIR|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i.test(
      name,
    ),
  )
  const outside = (process.env['PATH'] ?? '').split(delimiter).filter((path) => !path.startsWith(root))
  const programs = [join(folder, 'node_modules/.bin'), dirname(process.execPath), ...outside]
  return { ...Object.fromEntries(kept), PATH: programs.join(delimiter) }
}

function runShell(command: string, cwd: string, env: NodeJS.ProcessEnv, timeout = runMs): Promise<Outcome> {
  const child = spawn('/bin/sh', ['-e', '-c', command], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve({ passed: code === 0, output: output.trim() }))
  })
}
