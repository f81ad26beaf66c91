import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { call } from '../api/client.ts'
import type { Json, RuleProblem } from './rule-json.ts'

/** One policy or limit of a draft. Its key stays while it is moved and changed. */
export interface Rule {
  readonly key: number
  readonly json: Json
}

/** Policies or limits as somebody writes them, in the form and as JSON: the one is the other. */
export interface Draft {
  readonly rules: readonly Rule[]
  /** What was written as JSON, letter by letter; with a problem where it is no list of objects: then `rules` are those before. */
  readonly written?: { readonly text: string; readonly problem?: string | undefined } | undefined
}

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    return error instanceof Error ? error : new Error('It cannot be read.')
  }
}

/** Says what of a text is no list of objects: what these mean, the server checks. */
function findProblem(json: unknown): string | undefined {
  if (json instanceof Error) return `It is no JSON: ${json.message}`
  if (!Array.isArray(json)) return 'It has to be a list.'
  const at = json.findIndex((one) => typeof one !== 'object' || one === null || Array.isArray(one))
  return at === -1 ? undefined : `Entry ${at + 1} is no object.`
}

/** A name that none has yet: `large`, then `large-2`. */
function findFreeName(wanted: string, rules: readonly Rule[]): string {
  let name = wanted
  for (let at = 2; rules.some(({ json }) => json['name'] === name); at += 1) name = `${wanted}-${at}`
  return name
}

/** What is written, and what can be done with it. */
export function useDraft(begun: readonly Json[]) {
  const keys = useRef(begun.length)
  const [draft, setDraft] = useState<Draft>({ rules: begun.map((json, key) => ({ key, json })) })
  const { rules, written } = draft
  const set = (next: readonly Rule[]) => setDraft({ rules: next })
  const make = (json: Json): Rule => {
    keys.current += 1
    return { key: keys.current, json }
  }
  return {
    rules,
    /** What is wrong with the text. */
    problem: written?.problem,
    /** Undefined where the text has a problem. */
    list: written?.problem === undefined ? rules.map(({ json }) => json) : undefined,
    text:
      written?.text ??
      JSON.stringify(
        rules.map(({ json }) => json),
        null,
        2,
      ),
    write(text: string) {
      const json = readJson(text)
      const problem = findProblem(json)
      setDraft({ rules: problem === undefined ? (json as Json[]).map(make) : rules, written: { text, problem } })
    },
    change: (key: number, json: Json) => set(rules.map((one) => (one.key === key ? { key, json } : one))),
    /** Adds one behind another one, or at the end, and gives its key. */
    add(json: Json, behind?: number): number {
      const at = behind === undefined ? rules.length : rules.findIndex(({ key }) => key === behind) + 1
      const name = findFreeName(String(json['name']), rules)
      const added = make({ ...json, name })
      set(rules.toSpliced(at, 0, added))
      return added.key
    },
    remove: (key: number) => set(rules.filter((one) => one.key !== key)),
    move(key: number, by: 1 | -1) {
      const at = rules.findIndex((one) => one.key === key)
      const moved = rules[at]
      if (moved !== undefined) set(rules.toSpliced(at, 1).toSpliced(at + by, 0, moved))
    },
  }
}

/** The same value, once it has not changed for a while. */
function useSettled<T>(value: T, delayMs: number): T {
  const [settled, settle] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => settle(value), delayMs)
    return () => clearTimeout(timer)
  }, [value, delayMs])
  return settled
}

/** What the server says is wrong with rules: by their keys, and of them all. */
export interface DraftProblems {
  readonly byRule: ReadonlyMap<number, readonly RuleProblem[]>
  readonly general: readonly string[]
}

const pauseMs = 300

/** Asks the server, which reads a draft as the engine does, what is wrong with it, whenever somebody pauses. */
export function useProblems(
  rules: readonly Rule[],
  kind: 'policies' | 'limits',
  expectedVersion: number,
): DraftProblems | undefined {
  const settled = useSettled(rules, pauseMs)
  const check = useQuery<DraftProblems>({
    queryKey: ['check', kind, expectedVersion, settled],
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before,
    async queryFn({ signal }) {
      const list = settled.map(({ json }) => ({ ...json }))
      const { errors } = await (kind === 'limits'
        ? call('POST /limits/check', { body: { limits: list }, signal })
        : call('POST /policies/check', { body: { policies: list, expectedVersion }, signal }))
      return sort(errors, settled)
    },
  })
  return check.data
}

function sort(
  errors: readonly { readonly field: string; readonly detail: string }[],
  rules: readonly Rule[],
): DraftProblems {
  const byRule = new Map<number, RuleProblem[]>()
  const general: string[] = []
  for (const { field, detail } of errors) {
    const [, at = '', path = ''] = /^(?:policies|limits)\.(\d+)(?:\.(.+))?$/.exec(field) ?? []
    const rule = at === '' ? undefined : rules[Number(at)]
    if (rule === undefined) general.push(detail)
    else byRule.set(rule.key, [...(byRule.get(rule.key) ?? []), { path, detail }])
  }
  return { byRule, general }
}
