import type { AuditProblem, AuditRecord, ChainedEntry } from '@outlay/core'
import { formatCsv, formatCsvRow } from '../output/csv.ts'
import { type Column, formatTable, plural } from '../output/table.ts'
import type { CliContext } from '../session/cli-context.ts'
import type { Session } from '../session/session.ts'

/** Lists who did what. */
export async function listAudit(
  session: Session,
  {
    transferId,
    actor,
    limit,
  }: {
    readonly transferId?: string | undefined
    readonly actor?: string | undefined
    readonly limit?: number | undefined
  },
): Promise<void> {
  const records = await session.engine.audit.list({ transferId, actor, ...(limit === undefined ? {} : { limit }) })
  session.write(records, () =>
    records.length === 0
      ? 'Nothing is written down.'
      : formatTable(records, [
          ['at', (row) => row.at],
          ['who', (row) => row.actor],
          ['what', (row) => row.command],
          ['transfer', (row) => row.transferId],
          ['why', (row) => row.reason],
          ['login', (row) => row.login],
        ]),
  )
}

/** Compares the audit with its chain and with anchors; exits with 1 when something is wrong. */
export async function verifyAudit(session: Session, anchors: readonly string[]): Promise<number> {
  const verdict = await session.engine.audit.verify({ anchors, signal: session.signal })
  const { intact, entries, anchor, problems } = verdict
  session.write(verdict, () => {
    const against = anchors.length === 0 ? '' : `, and with ${plural(anchors.length, 'anchor')}`
    if (!intact) return problems.map(describeProblem).join('\n')
    if (anchor === null) return 'Nothing is written down, so there is nothing to compare.'
    const keep = `Keep this anchor where nobody who may change the database can change it, and give it as --anchor next time:\n${anchor}`
    return `${entries} ${entries === 1 ? 'entry' : 'entries'} compared with the chain${against}: nothing was changed. ${keep}`
  })
  return intact ? 0 : 1
}

const sentences: Readonly<Record<AuditProblem['kind'], string>> = {
  edited: 'is not what was written',
  deleted: 'is not there any more',
  inserted: 'was added by hand to what had been written',
  unchained:
    'is in no chain, and cannot be added, so that it can be changed unseen: find the session that has its advisory lock (pg_locks)',
  cut_off: 'is behind the end of the chain: the end was cut off',
  rewritten: 'has another hash than before: the chain was made anew',
}

function describeProblem({ kind, position, id }: AuditProblem): string {
  const names = [position === null ? [] : [`at ${position}`], id === null ? [] : [`with the id ${id}`]].flat()
  return `The entry ${names.join(', ')} ${sentences[kind]}.`
}

/** Writes all entries in the order of the chain, as JSON lines or as CSV. */
export async function exportAudit(
  session: Session,
  { stdout }: Pick<CliContext, 'stdout'>,
  { csv, after }: { readonly csv?: boolean | undefined; readonly after?: number | undefined },
): Promise<void> {
  const entries = session.engine.audit.chain({ ...(after === undefined ? {} : { after }), signal: session.signal })
  if (csv === true) stdout(`${formatCsv([], columns)}\r\n`)
  for await (const entry of entries) stdout(csv === true ? formatRow(entry) : formatLine(entry))
}

/** The entry stands as it is hashed, so that whoever reads the line can compute the hash again. */
const formatLine = ({ position, hash, text }: ChainedEntry): string =>
  `{"position":${position},"hash":"${hash}","entry":${text ?? 'null'}}\n`

type Row = Partial<AuditRecord> & Pick<ChainedEntry, 'position' | 'hash'>

const json = (value: unknown): string | null => (value === null || value === undefined ? null : JSON.stringify(value))

const columns: readonly Column<Row>[] = [
  ['position', (row) => row.position],
  ['at', (row) => row.at ?? null],
  ['who', (row) => row.actor ?? null],
  ['what', (row) => row.command ?? null],
  ['transfer', (row) => row.transferId ?? null],
  ['why', (row) => row.reason ?? null],
  ['before', (row) => json(row.before)],
  ['after', (row) => json(row.after)],
  ['login', (row) => row.login ?? null],
  ['id', (row) => row.id ?? null],
  ['hash', (row) => row.hash],
]

function formatRow({ position, hash, id, text }: ChainedEntry): string {
  const entry = text === null ? { id } : (JSON.parse(text) as AuditRecord)
  return `${formatCsvRow({ ...entry, position, hash }, columns)}\r\n`
}
