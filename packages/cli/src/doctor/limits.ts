import type { Engine, LimitUse } from '@outlay/core'
import { formatSum } from '../commands/limits.ts'
import { listSome } from '../output/list-some.ts'
import { plural } from '../output/table.ts'
import { type Finding, warning } from './finding.ts'

interface Limited {
  readonly engine: { readonly limits: Pick<Engine<unknown>['limits'], 'uses'> }
}

/** Says which limits on sums hold transfers, and which of these wait for a person. */
export async function diagnoseLimits({ engine }: Limited): Promise<readonly Finding[]> {
  const uses = (await engine.limits.uses({ most: 1_000 })).filter(({ held }) => held > 0)
  const large = uses.filter(({ tooLarge }) => tooLarge > 0)
  return [
    ...find(uses, 'limit_reached', ({ held }) => held, {
      are: 'held by limits on sums',
      cure: 'Nothing, where that is meant: what fits goes by itself. "outlay transfers release --hold limit --policy NAME" lets one go, and "outlay limits set" raises a limit.',
    }),
    ...find(large, 'limit_too_small', ({ tooLarge }) => tooLarge, {
      are: 'more than a limit alone, or stated in another currency with a quote, and held until somebody acts',
      cure: '"outlay transfers list --stage held" shows them; "outlay transfers release --hold limit --policy NAME" or "reject" each, or raise the limit ("outlay limits set").',
    }),
  ]
}

function find(
  uses: readonly LimitUse[],
  code: string,
  count: (use: LimitUse) => number,
  { are, cure }: { readonly are: string; readonly cure: string },
): readonly Finding[] {
  if (uses.length === 0) return []
  const names = uses.map(
    (use) => `${use.limit} of ${formatSum(use)} (${use.used} of ${use.most} ${use.currency} until ${use.until})`,
  )
  const sum = uses.reduce((total, use) => total + count(use), 0)
  return [warning(code, `${plural(sum, 'transfer')} ${are}: ${listSome(names)}.`, cure)]
}
