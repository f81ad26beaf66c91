// What the commands "doctor" and "prove" decide, and how lists are written as CSV, for programs that show it elsewhere.
import '@outlay/core/node-version'

export { judge, type Verdict } from './commands/verdict.ts'
export { diagnoseControl, type ExaminedControl } from './doctor/control.ts'
export { type ExaminationOptions, type Examined, examine } from './doctor/examination.ts'
export type { Finding, Severity } from './doctor/finding.ts'
export { formatCsv } from './output/csv.ts'
