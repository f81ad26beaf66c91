import process from 'node:process'
import { parseArgs } from 'node:util'
import { bugs } from './bugs/bugs.ts'
import { type Player, players } from './plan/players.ts'
import type { Outcome } from './run/run.ts'
import { campaign, type Failure, findBug } from './search/campaign.ts'
import { keepFailure, readFailure, replay } from './search/replay.ts'
import type { InvariantName, Violation } from './violation.ts'

const usage = `Usage: simulate [--seeds N] [--seed S] [--minutes M] [--parallel N] [--bug NAME | --bugs] [--judge N | --judge-only] [--no-shrink]
       simulate --replay FILE [--times N]

  --seeds N     how many seeds, from S on; default 20
  --seed S      the first seed; default: drawn from the time
  --minutes M   stop after so many minutes
  --parallel N  runs side by side; default 2
  --bug NAME    plant a mistake, to see that it is found: ${bugs.map(({ name }) => name).join(', ')}
  --bugs        plant each of them in turn, or those of --bug with commas between, and say which seed finds it
  --judge N     the judge checks one in N seeds, too; default 10, and every seed with --bugs
  --judge-only  every seed, and only what the judge finds counts
  --players P   only these, with commas between: ${players.join(', ')}
  --nodes       hosts have two databases, between which accounts move; without players and judge
  --keep-going  go on after a seed that fails, and name each
  --no-shrink   do not search for the shortest plan that still fails
  --replay FILE run the plan of a failure in the order that was recorded
  --times N     how often; default 1
`

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function report({ seed, violations, trace, kept }: Failure): Promise<void> {
  say(`\nSeed ${seed} breaks what must hold:`)
  for (const { invariant, detail } of violations.slice(0, 12)) say(`  ${invariant}: ${detail}`)
  say('\nThe shortest plan found that does:')
  for (const line of trace) say(`  ${line}`)
  if (kept.again.of > 0) say(`\nIn the same order it failed again ${kept.again.failed} of ${kept.again.of} times.`)
  say(`\nAgain: npx -y pnpm@12 simulate --replay ${await keepFailure('.outlay/failures', kept)}`)
}

/** One line for a seed that failed: how often each invariant was broken, and how first. */
function reportShortly(seed: number, violations: readonly Violation[]): void {
  const broken = [...Map.groupBy(violations, ({ invariant }) => invariant)]
  say(`seed ${seed}: ${broken.map(([name, found]) => `${name} (${found.length}: ${found[0]?.detail})`).join('; ')}`)
}

/** The players that are named; undefined for all. */
function readPlayers(text: string | undefined): ReadonlySet<Player> | undefined {
  if (text === undefined) return undefined
  const unknown = text.split(',').filter((name) => !players.some((player) => player === name))
  if (unknown.length > 0)
    throw new Error(`--players: there is no ${unknown.join(', ')}; there are ${players.join(', ')}`)
  return new Set(players.filter((player) => text.split(',').includes(player)))
}

/** Plants each mistake and says after how many seeds which invariant found it. */
async function findAll(
  seeds: readonly number[],
  parallel: number,
  judgeOnly: boolean,
  names: readonly string[] | undefined,
  players: ReadonlySet<Player> | undefined,
): Promise<number> {
  let missed = 0
  for (const name of names ?? bugs.map((bug) => bug.name)) {
    const breaks = findBug(name)?.breaks ?? []
    const others = new Map<InvariantName, number>()
    const wanted = judgeOnly ? (['judge'] as const) : breaks
    const onSeed = (seed: number, { violations }: Outcome) => {
      for (const { invariant } of violations)
        if (!wanted.includes(invariant) && !others.has(invariant)) others.set(invariant, seed)
    }
    const result = await campaign({
      seeds,
      parallel,
      bug: findBug(name),
      players,
      shrinks: false,
      wanted,
      judgeEvery: 1,
      onSeed,
    })
    const by = new Set(result.failure?.violations.map(({ invariant }) => invariant))
    if (result.failure === undefined) missed += 1
    const found =
      by.size > 0 ? `seed ${result.failure?.seed}, ${[...by].join(' and ')}` : `not in ${result.seeds} seeds`
    const beside = [...others].map(([invariant, seed]) => `${invariant} at ${seed}`).join(', ')
    say(`${name}: ${found}, ${result.seconds.toFixed(0)} s${beside === '' ? '' : `; beside it ${beside}`}`)
    if (judgeOnly) for (const { detail } of result.failure?.violations.slice(0, 3) ?? []) say(`  ${detail}`)
  }
  return missed === 0 ? 0 : 1
}

async function again(path: string, times: number): Promise<number> {
  const failure = await readFailure(path)
  const bug = findBug(failure.bug ?? undefined)
  const failed = await replay(failure, bug, times, (fails, { enforced, trace, violations }) => {
    if (times === 1) for (const line of trace) say(`  ${line}`)
    const found = fails ? `breaks ${[...new Set(violations.map(({ invariant }) => invariant))].join(', ')}` : 'holds'
    const { kept, missed, firstMissed: first } = enforced
    const diverged = first === undefined ? '' : `, first ${first.actor}: ${first.what} ${first.phase} ${first.payouts}`
    say(`${found}; ${kept} happened in their turn, ${missed} did not${diverged}`)
  })
  say(`${failed} of ${times} failed again.`)
  return failed === 0 ? 1 : 0
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '20' },
      seed: { type: 'string' },
      minutes: { type: 'string' },
      parallel: { type: 'string', default: '2' },
      bug: { type: 'string' },
      bugs: { type: 'boolean', default: false },
      judge: { type: 'string', default: '10' },
      'judge-only': { type: 'boolean', default: false },
      replay: { type: 'string' },
      times: { type: 'string', default: '1' },
      players: { type: 'string' },
      nodes: { type: 'boolean', default: false },
      'keep-going': { type: 'boolean', default: false },
      'no-shrink': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    say(usage)
    return 0
  }
  if (values.replay !== undefined) return again(values.replay, Number(values.times))
  const first = values.seed === undefined ? Math.floor(Date.now() / 1_000) % 1_000_000_000 : Number(values.seed)
  const count = Number(values.seeds)
  const parallel = Number(values.parallel)
  const judgeEvery = Number(values.judge)
  if (
    !Number.isSafeInteger(first) ||
    ![count, parallel, judgeEvery].every((number) => Number.isSafeInteger(number) && number > 0)
  ) {
    say(usage)
    return 2
  }
  const seeds = Array.from({ length: count }, (_, index) => first + index)
  const judgeOnly = values['judge-only']
  const named = readPlayers(values.players)
  if (values.bugs) return findAll(seeds, parallel, judgeOnly, values.bug?.split(','), named)
  let done = 0
  const result = await campaign({
    seeds,
    parallel,
    minutes: values.minutes === undefined ? undefined : Number(values.minutes),
    bug: findBug(values.bug),
    players: named,
    hasNodes: values.nodes,
    keepsGoing: values['keep-going'],
    shrinks: !values['no-shrink'] && !values['keep-going'],
    wanted: judgeOnly ? ['judge'] : undefined,
    judgeEvery: judgeOnly ? 1 : judgeEvery,
    onSeed: (seed, { payouts, faults, trace, violations }) => {
      done += 1
      if (values['keep-going'] && violations.length > 0) reportShortly(seed, violations)
      const line = `${done}/${count} seed ${seed}: ${payouts} payouts, ${faults} faults, ${trace.at(-1)}`
      if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`)
      else if (done % 25 === 0 || count <= 25) say(line)
    },
    onShrink: (text) => (process.stdout.isTTY ? process.stdout.write(`\r\x1b[K${text}`) : say(text)),
  })
  const { payouts, faults, seconds, failure } = result
  say(`\n${result.seeds} seeds from ${first}, ${payouts} payouts, ${faults} faults, ${seconds.toFixed(0)} s`)
  if (failure !== undefined) await report(failure)
  else say('Every invariant held.')
  return failure === undefined ? 0 : 1
}

// A worker that was killed leaves loops behind that nothing ends but the end of the process, as with a real one.
process.exit(await main())
