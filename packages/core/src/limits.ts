/** Limits of the service, each with its unit in its name. Specification: "Limits". */
export const Limits = Object.freeze({
  /** Largest inbound ACH payment, in USD. */
  inboundAchUsd: '50000',
  /** Largest same-day ACH payment, in USD: a rule of the network, enforced by the rails. */
  sameDayAchUsd: '1000000',
  /** Smallest page of a list, in records. */
  pageSizeMin: 1,
  /** Largest page of a list, in records. */
  pageSizeMax: 100,
  /** Default page of a list, in records. */
  pageSizeDefault: 25,
  /** How long an outside Canton party may take to accept a transfer, in milliseconds: 72 hours. */
  cantonAcceptanceMs: 72 * 3_600_000,
  /** Lifetime of an access token, in milliseconds: about 60 minutes. */
  accessTokenMs: 3_600_000,
  /** Longest memo of an outbound wire, in characters: four lines of 35. */
  wireMemoCharacters: 140,
  /** Longest note of a transfer, in characters. */
  noteCharacters: 255,
  /** Longest idempotency key, in visible ASCII characters. */
  idempotencyKeyCharacters: 255,
  /** Longest name of anything, in characters. */
  nameCharacters: 255,
  /** Most webhooks of an account, disabled ones included. The specification has no limit; each event has a delivery for each webhook. */
  webhooksPerAccount: 50,
  /** Longest integer part of an amount, in digits. */
  amountIntegerDigits: 30,
  /** Longest fraction of an amount, in digits, where a value type does not set fewer. */
  amountFractionDigits: 18,
  /** Most pairs of metadata of a transfer. */
  metadataPairs: 50,
  /** Longest key of a pair of metadata, in characters. */
  metadataNameCharacters: 40,
  /** Longest value of a pair of metadata, in characters. */
  metadataValueCharacters: 500,
} as const)
