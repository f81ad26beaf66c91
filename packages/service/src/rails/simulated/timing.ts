import type { RailInstruction } from '../port.ts'
import { addBankingDays, fromEastern, isBankingDay, toEastern } from './banking-day.ts'

const second = 1000
const minute = 60 * second

/** Time from submission to finality on chains and on rails that operate around the clock, in milliseconds. */
const flatTimes: Readonly<Record<string, number>> = {
  wire: 120 * minute,
  rtp: minute,
  spei: 2 * minute,
  ethereum: 3 * minute,
  sepolia: 3 * minute,
  polygon: 15 * second,
  amoy: 15 * second,
  bnb: 15 * second,
  canton: 30 * second,
  canton_testnet: 30 * second,
}

/** Chains that are not listed. */
const chainTimeMs = 10 * second

/** A swap inside one chain. */
const swapTimeMs = 5 * second

/** How long a Canton party has to accept. Specification: "Limits". */
export const cantonOfferMs = 72 * 60 * minute

/** Cut-off of a same-day file, in minutes of the Eastern day, and the minute at which it settles. */
const sameDayWindows = [
  { cutoff: 10 * 60 + 30, settles: 13 * 60 },
  { cutoff: 14 * 60 + 45, settles: 17 * 60 },
  { cutoff: 16 * 60 + 45, settles: 18 * 60 },
] as const

/** ACH files of a banking day close at 16:45 Eastern and settle at 8:30. */
const achCutoff = 16 * 60 + 45
const achSettles = 8 * 60 + 30
const achBankingDays = { ach_credit: 2, ach_debit: 3 } as const

/** An ACH entry is returned within two banking days. */
const achReturnBankingDays = 2

/** Delay before a returned entry is presented again. */
const achPauseBankingDays = 2

const afterBankingDays = (from: Date, count: number): Date => {
  const { date, minute: now } = toEastern(from)
  const late = isBankingDay(date) && now > achCutoff
  return fromEastern(addBankingDays(late ? addBankingDays(date, 1) : addBankingDays(date, 0), count), achSettles)
}

const sameDay = (from: Date): Date => {
  const { date, minute: now } = toEastern(from)
  const window = isBankingDay(date) ? sameDayWindows.find(({ cutoff }) => now <= cutoff) : undefined
  if (window !== undefined) return fromEastern(date, window.settles)
  const next = isBankingDay(date) ? addBankingDays(date, 1) : addBankingDays(date, 0)
  return fromEastern(next, sameDayWindows[0].settles)
}

/** True for the transfer types of the ACH network, which can be returned with a return code. */
export const isAch = (transferType: string): boolean =>
  transferType === 'ach_credit' || transferType === 'ach_debit' || transferType === 'same_day_ach_credit'

/** When a payment on one rail that is submitted at `from` becomes final. */
export const settlesAt = (transferType: string, from: Date): Date => {
  if (transferType === 'ach_credit' || transferType === 'ach_debit') {
    return afterBankingDays(from, achBankingDays[transferType])
  }
  if (transferType === 'same_day_ach_credit') return sameDay(from)
  return new Date(from.getTime() + (flatTimes[transferType] ?? chainTimeMs))
}

/** When an ACH entry that is submitted at `from` is returned. */
export const returnsAt = (from: Date): Date => afterBankingDays(from, achReturnBankingDays)

/** When an ACH debit that was returned at `from` is presented again. */
export const representsAt = (from: Date): Date => afterBankingDays(from, achPauseBankingDays)

/** When the transfer as a whole becomes final, counted from the arrival of its money. */
export const transferSettlesAt = (instruction: RailInstruction, from: Date): Date => {
  if (instruction.flow === 'swap') return new Date(from.getTime() + swapTimeMs)
  if (instruction.flow === 'onramp' && instruction.deposit === undefined && isAch(instruction.source.transferType)) {
    return settlesAt(instruction.source.transferType, from)
  }
  return settlesAt(instruction.destination.transferType, from)
}
