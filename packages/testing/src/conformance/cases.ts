import '@outlay/core/node-version'

export {
  type ConformanceClient,
  readConformanceOptions,
  type ServiceConformanceOptions,
  type ServiceFetch,
} from './service/options.ts'
export {
  type ServiceCase,
  type ServiceNeed,
  type SpecificationSection,
  specificationSections,
} from './service/service-case.ts'
export { selectServiceCases, serviceCases } from './service/service-cases.ts'
export { openSubject, type ServiceSubject } from './service/subject.ts'
