import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { packPackages, root } from '../../scripts/packages.ts'
import { type GuideBlock, patternOf, readGuide } from './guide.ts'

const { adminUrl } = await testDatabase()
const directory = await mkdtemp(join(tmpdir(), 'outlay-five-minutes-'))
const running = new Set<ChildProcess>()

afterAll(async () => {
  for (const child of running) {
    const closed = once(child, 'close')
    child.kill('SIGTERM')
    await closed
  }
  await rm(directory, { recursive: true, force: true })
}, 60_000)

const blocks = readGuide(await readFile(join(root, 'docs/guides/five-minute-start.md'), 'utf8'))
const project = join(directory, 'project')

/** As on a reader's machine: of this workspace only its Node, and the registry that npm is configured with. */
function readersEnvironment(): NodeJS.ProcessEnv {
  const { PATH = '', HOME, USERPROFILE, OUTLAY_TEST_DATABASE_URL, OUTLAY_POSTGRES } = process.env
  const outside = PATH.split(delimiter).filter((folder) => !folder.startsWith(root))
  const isOwn = Boolean(OUTLAY_TEST_DATABASE_URL) || OUTLAY_POSTGRES === 'container'
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(npm_config_(registry|userconfig|cache|cafile)|TMPDIR|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i.test(name),
  )
  return {
    ...Object.fromEntries(kept),
    HOME,
    USERPROFILE,
    PATH: [dirname(process.execPath), ...outside].join(delimiter),
    ...(isOwn ? { OUTLAY_TEST_DATABASE_URL: adminUrl } : {}),
  }
}

/** Ends a program when its standard input closes, so that background programs do not outlive this process. */
const endWithParent = `data:text/javascript,${encodeURIComponent(
  'process.stdin.once("end", () => process.exit(1)).resume().unref()',
)}`

/** Starts a script in the reader's shell and keeps what it prints. */
function type(script: string) {
  const child = spawn('/bin/sh', ['-e', '-c', script], { cwd: project, env: readersEnvironment() })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  running.add(child)
  const ended = once(child, 'close').then(([code]) => {
    running.delete(child)
    return { code: code as number | null, stdout, stderr }
  })
  return { ended, stdout: () => stdout, stderr: () => stderr, isOver: () => !running.has(child) }
}

/** Compiles the reader's files against the declarations that were installed, those declarations included. */
async function checkTypes(): Promise<void> {
  const files = blocks.flatMap((block) => (block.kind === 'file' ? [block.path] : []))
  const options = {
    noEmit: true,
    strict: true,
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'dom'],
    skipLibCheck: false,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  }
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }))
  const compiled = await type(`'${join(root, 'node_modules/.bin/tsc')}' -p .`).ended
  expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' })
}

const typed = (block: GuideBlock): block is GuideBlock & { kind: 'commands' } => block.kind === 'commands'

it('a folder outside the workspace follows the five-minute start as it is written', async () => {
  const tarballs = packPackages(join(directory, 'tarballs'))
  await mkdir(project)
  const withTarballs = (text: string) => text.replace(/@outlay\/[a-z-]+/g, (name) => tarballs.get(name) ?? name)
  for (const block of blocks) {
    if (block.kind === 'file') await writeFile(join(project, block.path), block.text)
  }
  const [install, ...others] = blocks.filter(typed)
  expect(install?.text).toContain('npm install')
  const installed = await type(withTarballs(install?.text ?? '')).ended
  expect(installed, installed.stderr).toMatchObject({ code: 0 })

  await checkTypes()
  const background = others.filter(({ terminal }) => terminal !== undefined)
  expect(background).toHaveLength(1)
  for (const { text, prints } of background) {
    // The shell hands the terminal over, so that ending it ends the program.
    const terminal = type(`export NODE_OPTIONS='--import=${endWithParent}'\nexec ${text}`)
    await waitUntil(() => terminal.isOver() || patternOf(prints).test(terminal.stdout()), {
      timeoutMs: 120_000,
      describe: () => `the sandbox: ${terminal.stdout()}${terminal.stderr()}`,
    })
    expect(terminal.isOver(), terminal.stderr()).toBe(false)
  }

  // One terminal for the rest, so that exported variables stay.
  const foreground = others.filter(({ terminal }) => terminal === undefined)
  const cut = '--- next block ---'
  const session = await type(foreground.map(({ text }) => text).join(`echo '${cut}'\n`)).ended
  expect(session, session.stderr).toMatchObject({ code: 0 })
  const printed = session.stdout.split(`${cut}\n`)
  expect(printed).toHaveLength(foreground.length)
  for (const [index, { prints }] of foreground.entries()) expect(printed[index]).toMatch(patternOf(prints))
}, 600_000)
