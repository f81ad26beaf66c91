import type { Player } from './players.ts'

/** Players that are left out, since they find what is not mended yet, and what that is. */
export const unmended: readonly { readonly player: Player; readonly finds: string }[] = [
  { player: 'open_transactions', finds: 'claims and settlements wait for an open transaction of a host' },
  { player: 'pages', finds: 'a page of a proxy is taken for a refusal while an outcome is unknown' },
  { player: 'revoked_accounts', finds: 'an answer that was given before the key was looked at is taken for a refusal' },
  { player: 'forgotten_keys', finds: 'a key is sent again after the service has forgotten it' },
  { player: 'idle_days', finds: 'another answer puts off what is unknown for a day' },
  { player: 'changed_clients', finds: 'a key is sent again by another client of the service' },
  { player: 'equal_keys', finds: 'two accounts of one client cannot have one key' },
  { player: 'two_releases', finds: 'an earlier release takes types of a subscription away' },
  { player: 'hanging_gateways', finds: 'a gateway that hangs takes every slot' },
  { player: 'hanging_reads', finds: 'a read that hangs delays those of other accounts' },
  { player: 'hanging_vaults', finds: 'a vault that hangs takes every slot' },
  { player: 'hanging_handlers', finds: 'a handler that hangs takes the loops of its subscription' },
  { player: 'nonsense', finds: 'an answer that cannot be read keeps every outcome from being written' },
  { player: 'schedules', finds: 'a release sends a scheduled transfer before its time' },
  { player: 'resubmitted_twice', finds: 'two resubmissions at once make two payouts' },
  { player: 'common_gateways', finds: 'an engine that stops closes the gateway of another one' },
  { player: 'firewalls', finds: 'one refused transfer holds back all of its account' },
]
