import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeFolder } from './cluster.ts'

const run = promisify(execFile)

/** A disk that may lose writes: `fsync` fails for programs loaded with it while it is broken. */
export interface FailingSync extends AsyncDisposable {
  /** The environment of a server on this disk. */
  readonly env: Readonly<Record<string, string>>
  fail(): Promise<void>
  heal(): Promise<void>
}

const source = (flag: string) => `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

static int is_broken(void) {
  int before = errno;
  int broken = access(${JSON.stringify(flag)}, F_OK) == 0;
  errno = before;
  return broken;
}

#define PASS_ON(name)                                   \\
  int name(int fd) {                                    \\
    static int (*real)(int);                            \\
    if (is_broken()) { errno = EIO; return -1; }        \\
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, #name); \\
    return real(fd);                                    \\
  }

PASS_ON(fsync)
PASS_ON(fdatasync)
`

/** Builds the library with the C compiler of this machine. Returns a sentence when there is none. */
export async function buildFailingSync(): Promise<FailingSync | string> {
  const folder = await makeFolder()
  const [flag, library] = [join(folder, 'broken'), join(folder, 'sync.so')]
  const dispose = () => rm(folder, { recursive: true, force: true })
  await writeFile(join(folder, 'sync.c'), source(flag))
  try {
    await run('cc', ['-shared', '-fPIC', '-O1', '-o', library, join(folder, 'sync.c'), '-ldl'])
  } catch {
    await dispose()
    return 'there is no C compiler that builds a library'
  }
  return {
    env: { LD_PRELOAD: library },
    fail: () => writeFile(flag, ''),
    heal: () => rm(flag, { force: true }),
    [Symbol.asyncDispose]: dispose,
  }
}

/** A small file system in memory. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string
  /** Fills the file system. */
  fill(): Promise<void>
  /** Frees the space again. */
  free(): Promise<void>
}

/** Mounts a small file system. Returns a sentence where that is not allowed. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk | string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux may mount a small disk'
  const path = await makeFolder()
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'tmpfs', path])
  } catch {
    await rm(path, { recursive: true, force: true })
    return 'this machine does not let its root mount a small disk'
  }
  const ballast = join(path, 'ballast')
  return {
    path,
    // It ends with an error when no space is left.
    fill: () => run('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=64k']).then(noResult, noResult),
    free: () => rm(ballast, { force: true }),
    async [Symbol.asyncDispose]() {
      await run('umount', ['-l', path])
      await rm(path, { recursive: true, force: true })
    },
  }
}

const noResult = () => undefined

/** The clock of a server that a test sets. */
export interface FakeClock extends AsyncDisposable {
  /** The environment of a server with this clock. */
  readonly env: Readonly<Record<string, string>>
  /** Sets the clock ahead of the true one, or behind it; it jumps there at once. */
  setAhead(seconds: number): Promise<void>
}

/** Makes a clock with Debian's libfaketime. Returns a sentence where that is not installed. */
export async function makeFakeClock(): Promise<FakeClock | string> {
  const known = ['x86_64', 'aarch64'].map((cpu) => `/usr/lib/${cpu}-linux-gnu/faketime/libfaketime.so.1`)
  const library = known.find((path) => existsSync(path))
  if (library === undefined) return 'there is no libfaketime; the Debian package is "faketime"'
  const folder = await makeFolder()
  const file = join(folder, 'offset')
  const setAhead = async (seconds: number) => {
    // A reader finds the old one or the new one at any time.
    await writeFile(`${file}.new`, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}s\n`)
    await rename(`${file}.new`, file)
  }
  await setAhead(0)
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      // Pauses are measured with this one, which no administrator can set.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
    setAhead,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
