import type { Driver } from '../database/driver.ts'
import { nodeError } from './node-reachability.ts'
import type { QuestionLimit } from './question-limit.ts'

/** A node that is missing in a result, and why. */
export interface MissingNode {
  readonly node: string
  /** `node_unavailable` when it did not answer in time or cannot be reached; else what it answered with. */
  readonly error: Error
}

/** What the nodes answered, and which did not. */
export interface NodeAnswers<T> {
  /** By the name of the node. */
  readonly answers: Readonly<Record<string, T>>
  /** Empty when every node has answered. */
  readonly missing: readonly MissingNode[]
}

/** Asks nodes, each with a bound, so that one that is dead costs the others nothing. */
export interface NodeQuestions<Node> {
  /** Asks one node. Throws `node_unavailable` when it does not answer in time. */
  askOne<T>(node: Node, ask: (node: Node) => Promise<T>): Promise<T>
  /** Asks all at once, and never throws. */
  askAll<T>(ask: (node: Node) => Promise<T>): Promise<NodeAnswers<T>>
  /**
   * The first answer that is not `undefined`, as soon as one node has it. `undefined` only when every node has said so.
   * @throws the error of the first missing node, when no other one has an answer
   */
  askAny<T>(ask: (node: Node) => Promise<T | undefined>): Promise<T | undefined>
}

/** Makes the questions for nodes, each behind its own limit. */
export function createNodeQuestions<Node extends { readonly name: string; readonly limit: QuestionLimit }>(
  nodes: readonly Node[],
): NodeQuestions<Node> {
  const askOne: NodeQuestions<Node>['askOne'] = (node, ask) => node.limit.ask(() => ask(node))
  const settle = <T>(ask: (node: Node) => Promise<T>) =>
    nodes.map((node) =>
      askOne(node, ask).then(
        (answer) => ({ node: node.name, answer }),
        (error: Error) => ({ node: node.name, error }),
      ),
    )
  return {
    askOne,
    async askAll(ask) {
      const all = await Promise.all(settle(ask))
      return {
        answers: Object.fromEntries(all.flatMap((one) => ('error' in one ? [] : [[one.node, one.answer] as const]))),
        missing: all.flatMap((one) => ('error' in one ? [one] : [])),
      }
    },
    askAny: (ask) =>
      new Promise((resolve, reject) => {
        const all = settle(ask)
        for (const one of all) {
          void one.then((given) => {
            if (!('error' in given) && given.answer !== undefined) resolve(given.answer)
          })
        }
        void Promise.all(all).then((given) => {
          const failed = given.find((one) => 'error' in one)
          if (failed !== undefined && 'error' in failed) reject(failed.error)
          else resolve(undefined)
        })
      }),
  }
}

/** Does what takes long on all nodes at once, without a bound, behind a question to each whether it is there. Never throws. */
export async function runAll<Node extends { readonly name: string; readonly driver: Pick<Driver<never>, 'run'> }, T>(
  questions: NodeQuestions<Node>,
  run: (node: Node) => Promise<T>,
): Promise<NodeAnswers<T>> {
  const there = await questions.askAll(async (node) => {
    await node.driver.run('select 1')
    return node
  })
  const answers: Record<string, T> = {}
  const missing: MissingNode[] = [...there.missing]
  await Promise.all(
    Object.values(there.answers).map(async (node) => {
      try {
        answers[node.name] = await run(node)
      } catch (error) {
        missing.push({ node: node.name, error: nodeError(node.name, error) })
      }
    }),
  )
  return { answers, missing }
}
