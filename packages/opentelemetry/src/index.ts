import '@outlay/core/node-version'

export { type OpenTelemetryOptions, openTelemetry } from './open-telemetry.ts'
