import { accountTransitions } from '../../packages/core/src/account.ts'
import { automationTransitions } from '../../packages/core/src/automation.ts'
import { statusEvent } from '../../packages/core/src/event.ts'
import { stages, stageTransitions } from '../../packages/core/src/ports/stored-transfer.ts'
import { transferStatuses, transferTransitions } from '../../packages/core/src/transfer-status.ts'
import { readExports } from './declarations.ts'
import { arrowsOf, code, type Page, paragraphs, stateDiagram, table } from './markdown.ts'

const transferArrows = arrowsOf(transferTransitions).map((arrow) => ({
  ...arrow,
  ...(arrow.from === 'failed' ? { when: 'only when the failure is retriable' } : {}),
}))

/** The diagrams that are also in other documents, by their name there. */
export const diagrams: Readonly<Record<string, string>> = {
  'transfer-statuses': stateDiagram(transferStatuses, transferArrows),
  'engine-stages': stateDiagram(stages, stageTransitions, 'enqueue commits'),
}

/** Statuses at the service, from their tables of transitions. */
export function writeStatuses(): Page {
  const rows = transferStatuses.map((status) => {
    const next: readonly string[] = transferTransitions[status]
    const final = status === 'failed' ? 'unless its failure is retriable' : next.length === 0 ? 'yes' : 'no'
    return [code(status), next.map(code).join(', '), final, code(statusEvent(status))]
  })
  return {
    name: 'statuses',
    title: 'Statuses',
    summary: 'the statuses of transfers, accounts and automations at the service, and their transitions',
    body: paragraphs(
      '## Transfers',
      'In order of precedence. A status only moves forward, in whatever order webhooks and polls arrive; steps in between may be missing. `failed` is left only while its failure says `retriable`.',
      table(['status', 'goes to', 'final', "the engine's event"], rows),
      diagrams['transfer-statuses'],
      '## Accounts',
      stateDiagram(Object.keys(accountTransitions), arrowsOf(accountTransitions)),
      '## Automations',
      stateDiagram(Object.keys(automationTransitions), arrowsOf(automationTransitions)),
    ),
  }
}

/** Stages of a transfer inside the engine, from their table. */
export function writeEngineStages(): Page {
  const doc = readExports('packages/core/src/ports/stored-transfer.ts').find(({ name }) => name === 'stages')?.doc ?? ''
  const meanings = new Map([...doc.matchAll(/^- `(\w+)`: (.+)$/gm)].map(([, stage, meaning]) => [stage, meaning ?? '']))
  return {
    name: 'engine-stages',
    title: 'Engine stages',
    summary: 'the stages of a transfer inside the engine, and the transitions between them',
    body: paragraphs(
      'The stage is separate from the status, for operators. A test makes every transition in a database and finds no other.',
      table(
        ['stage', 'meaning'],
        stages.map((stage) => [code(stage), meanings.get(stage) ?? '']),
      ),
      diagrams['engine-stages'],
      table(
        ['from', 'to', 'by'],
        stageTransitions.map(({ from, to, when }) => [code(from), code(to), when]),
      ),
    ),
  }
}
