import { describe, it } from 'vitest'
import type { ServiceConformanceOptions } from './service/options.ts'
import type { SpecificationSection } from './service/service-case.ts'
import { selectServiceCases } from './service/service-cases.ts'
import { openSubject, type ServiceSubject } from './service/subject.ts'

export * from './cases.ts'

/**
 * Declares one test per case of the suite. A service that passes them conforms to the specification. The suite uses only HTTP, so
 * the service may use any language and run anywhere.
 *
 * @example
 * describeService(readConformanceOptions(process.env))
 */
export function describeService(options: ServiceConformanceOptions): void {
  let opening: Promise<ServiceSubject> | undefined
  const open = () => (opening ??= openSubject(options))
  const sections = new Map<SpecificationSection, ReturnType<typeof selectServiceCases>[number][]>()
  for (const one of selectServiceCases(options)) {
    const list = sections.get(one.section) ?? []
    sections.set(one.section, [...list, one])
  }
  for (const [section, cases] of sections) {
    describe(section, () => {
      for (const { name, run } of cases) it(name, async () => run(await open()))
    })
  }
}
