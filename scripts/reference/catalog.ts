import { defaultCatalog } from '../../packages/core/src/catalog.ts'
import { Limits } from '../../packages/core/src/limits.ts'
import { defaultTransferTypes, type TransferType } from '../../packages/core/src/transfer-type.ts'
import { readProperties } from './declarations.ts'
import { code, duration, type Page, paragraphs, table } from './markdown.ts'

/** The page of value types and transfer types, from the catalog that ships. */
export function writeCatalog(): Page {
  const { valueTypes, transferTypes } = defaultCatalog
  const values = valueTypes.map(({ name, kind, scale, peg }) => [code(name), kind, `${scale}`, code(peg)])
  const limits = readProperties('packages/core/src/limits.ts', 'Limits').map(({ name, doc }) => [
    code(name),
    `${Limits[name as keyof typeof Limits]}`,
    doc,
  ])
  return {
    name: 'catalog',
    title: 'Value types, transfer types and limits',
    summary: 'currencies, tokens, rails and chains, with their scales and pairs; the largest amounts and lengths',
    body: paragraphs(
      'These ship; `createCatalog` adds your own. Names are also accepted in lower case, in upper case and capitalized, and are stored as written here. Filters match exactly.',
      '## Value types',
      'The scale is the most digits after the point. An amount may be given in the peg. The service moves value between value types with the same peg only.',
      table(['value type', 'kind', 'scale', 'peg'], values),
      '## Transfer types',
      'Money comes in on an inbound type and goes out on an outbound one. The usual time sets the poll interval of a status, and when the simulated rails settle.',
      table(
        ['transfer type', 'family', 'environment', 'moves', 'direction', 'usual time', 'further rules'],
        transferTypes.map((type) => [
          code(type.name),
          type.family,
          type.environment ?? 'both',
          type.valueTypes === null ? 'every token' : type.valueTypes.join(', '),
          directionOf(type),
          duration(type.expectedMs),
          rulesOf(type).join('; '),
        ]),
      ),
      '## Limits',
      table(['limit', 'value', 'what it limits'], limits),
    ),
  }
}

function directionOf({ inbound, outbound }: TransferType): string {
  if (inbound && outbound) return 'both'
  return inbound ? 'inbound' : 'outbound'
}

function rulesOf({ name, brandable, wire, inboundLimit, returnWindowMs, coveredBy }: TransferType): readonly string[] {
  const aliases = defaultTransferTypes.find((one) => one.name === name)?.aliases ?? []
  return [
    ...aliases.map((alias) => `also called ${code(alias)}`),
    ...(brandable ? ['accepts a brand'] : []),
    ...(wire ? ['accepts a memo when outbound; needs no source address when inbound'] : []),
    ...(inboundLimit === null ? [] : [`at most ${inboundLimit} inbound`]),
    ...(returnWindowMs === null ? [] : [`may come back for ${duration(returnWindowMs)} after it was complete`]),
    ...coveredBy.map((other) => `allowed wherever ${code(other)} is`),
  ]
}
